// People by a header that a proxy signs. A request is a person's if the token in it is signed by a key of the provider, for this
// service, and not expired. `jose` does the cryptography, and this file decides what it may be asked.
import { errors, jwtVerify } from "jose";
import type { JWSHeaderParameters } from "jose";
import { Refusal, signInRefused } from "../common/errors.ts";
import { isSignedToken } from "../common/people-settings.ts";
import type { HeaderSettings } from "../common/people-settings.ts";
import type { Claims, RoleRule } from "../common/roles.ts";
import type { Caller, Store } from "../management/operation.ts";
import { toPerson } from "../management/people.ts";
import { readBearer } from "./authorization.ts";
import { createKeys } from "./provider-keys.ts";
import type { Keys } from "./provider-keys.ts";

/** The person whose token a request has; undefined for one without. Throws if the token is not valid, or gives no role. */
export type SignedHeader = (request: Request, store: Store) => Promise<Caller | undefined>;

const algorithms = ["RS256", "ES256", "EdDSA", "Ed25519"];
const maxToken = 16_384; // characters: more than Node takes in all headers of a request
const skew = 60; // seconds by which clocks may differ

export function openSignedHeader(
  settings: HeaderSettings,
  rules: readonly RoleRule[],
  send: typeof fetch,
): SignedHeader {
  const keys = createKeys(settings.keysUrl, send);
  return async (request, store) => {
    const token = readToken(request, settings.name);
    if (token === undefined) return undefined;
    return await toPerson(store, await verify(token, settings, keys, store), rules);
  };
}

/** The token in a header. In Authorization there may be other ones, such as management tokens. */
function readToken({ headers }: Request, name: string): string | undefined {
  const value = headers.get(name) ?? "";
  if (name !== "authorization") return value === "" ? undefined : value;
  const token = /^bearer /i.test(value) ? readBearer(value) : "";
  return isSignedToken(token) ? token : undefined;
}

/** The claims of a token. Two headers of one name are one text with a comma, which is no token. */
async function verify(token: string, { issuer, audience }: HeaderSettings, keys: Keys, store: Store): Promise<Claims> {
  if (token.length > maxToken) throw signInRefused(`its token has more than ${maxToken} characters`);
  if (!isSignedToken(token)) throw signInRefused("its header must have one signed token");
  const options = {
    ...{ issuer, audience, algorithms, clockTolerance: skew },
    currentDate: new Date(store.clock()),
    requiredClaims: ["exp"],
  };
  try {
    return (await jwtVerify(token, (header: JWSHeaderParameters) => keys.find(header, store), options)).payload;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw signInRefused(faultOf(error));
  }
}

/** What is wrong with a token, without a word of it. */
function faultOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    const setting = { iss: "AUTH_ISSUER", aud: "AUTH_AUDIENCE" }[error.claim];
    return setting === undefined
      ? `its claim ${error.claim} is missing or wrong`
      : `its ${error.claim} is not ${setting}`;
  }
  return "its token is not signed by a key of AUTH_JWKS_URL";
}
