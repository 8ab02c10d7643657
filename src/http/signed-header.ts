// People by a header that a proxy signs. A request is a person's if the token in it is signed by a key of the provider, for this
// service, and not expired.
import { signInRefused } from "../common/errors.ts";
import { isSignedToken } from "../common/people-settings.ts";
import type { HeaderSettings } from "../common/people-settings.ts";
import type { RoleRule } from "../common/roles.ts";
import type { Caller, Store } from "../management/operation.ts";
import { toPerson } from "../management/people.ts";
import { readBearer } from "./authorization.ts";
import { createVerify } from "./provider-keys.ts";

/** The person whose token a request has; undefined for one without. Throws if the token is not valid, or gives no role. */
export type SignedHeader = (request: Request, store: Store) => Promise<Caller | undefined>;

const maxToken = 16_384; // characters: more than Node takes in all headers of a request

export function openSignedHeader(
  { name, keysUrl, issuer, audience }: HeaderSettings,
  rules: readonly RoleRule[],
  send: typeof fetch,
): SignedHeader {
  const verify = createVerify(keysUrl, send);
  return async (request, store) => {
    const token = readToken(request, name);
    if (token === undefined) return undefined;
    if (token.length > maxToken) throw signInRefused(`its token has more than ${maxToken} characters`);
    // Two headers of one name are one text with a comma, which is no token.
    if (!isSignedToken(token)) throw signInRefused("its header must have one signed token");
    return await toPerson(store, await verify(token, { issuer, audience }, store), rules);
  };
}

/** The token in a header. In Authorization there may be other ones, such as management tokens. */
function readToken({ headers }: Request, name: string): string | undefined {
  const value = headers.get(name) ?? "";
  if (name !== "authorization") return value === "" ? undefined : value;
  const token = /^bearer /i.test(value) ? readBearer(value) : "";
  return isSignedToken(token) ? token : undefined;
}
