// People by a header that a proxy signs. Its token must be signed by a key of the provider, for this service, and not
// expired.
import { signInRefused } from "../../common/errors.ts";
import { isSignedToken } from "./people-settings.ts";
import type { HeaderSettings } from "./people-settings.ts";
import type { RoleRule } from "../../support/roles.ts";
import type { Caller, Store } from "../../management/kernel/operation.ts";
import { toPerson } from "../../management/kernel/people.ts";
import { readBearer } from "../../http/authorization.ts";
import { createVerify } from "./provider-keys.ts";

/** Person whose token a request has; undefined without one. Throws if the token is not valid, or gives no role. */
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
    // Two headers of one name are one text with a comma, which is not valid.
    if (!isSignedToken(token)) throw signInRefused("its header must have one signed token");
    return await toPerson(store, await verify(token, { issuer, audience }, store), rules);
  };
}

/** Token in a header. Authorization may have other tokens, such as management tokens. */
function readToken({ headers }: Request, name: string): string | undefined {
  const value = headers.get(name) ?? "";
  if (name !== "authorization") return value === "" ? undefined : value;
  const token = /^bearer /i.test(value) ? readBearer(value) : "";
  return isSignedToken(token) ? token : undefined;
}
