// Public keys of an identity provider, and the checks of a token that it signs. `jose` does the cryptography.
import { createLocalJWKSet, errors, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import { providerAway, Refusal, signInRefused } from "../../common/errors.ts";
import type { Claims } from "../../support/roles.ts";
import type { Store } from "../../management/kernel/operation.ts";
import { keep, readJson } from "./provider-answer.ts";
import { because, describeFault } from "./sign-in-fault.ts";

/** Expected issuer and audience. */
export type Expected = { issuer: string; audience: string };

/**
 * Claims of a signed token. Throws a refusal if it is not as expected, not valid now, or not signed by one of the keys.
 */
export type Verify = (token: string, expected: Expected, store: Store) => Promise<Claims>;

const algorithms = ["RS256", "ES256", "EdDSA", "Ed25519"];
/** Seconds by which clocks may differ. */
export const skew = 60;

/** Makes a verifier of tokens with the keys at a URL. It reads them again if a token's key is missing. */
export function createVerify(url: string, send: typeof fetch): Verify {
  const keys = keep(async () => {
    const found = await readJson(url, send);
    try {
      return createLocalJWKSet(found as JSONWebKeySet);
    } catch {
      throw providerAway(`${new URL(url).host} answered with something that is no key set`);
    }
  });

  async function verify(token: string, options: JWTVerifyOptions, store: Store): Promise<JWTPayload> {
    try {
      return await verifyWith(await keys.get(store), token, options);
    } catch (error) {
      const renewed = error instanceof errors.JWKSNoMatchingKey ? await keys.renew(store) : undefined;
      if (renewed === undefined) throw error;
      return await verifyWith(renewed, token, options);
    }
  }

  return async (token, expected, store) => {
    const currentDate = new Date(store.clock());
    const options = { ...expected, algorithms, clockTolerance: skew, currentDate, requiredClaims: ["exp"] };
    try {
      return await verify(token, options, store);
    } catch (error) {
      throw error instanceof Refusal ? error : because(signInRefused(faultOf(error)), describeFault(error, []));
    }
  };
}

const mostKeys = 8; // tried for a token that names none, because anyone may send one

/** Claims of a token. If it names no key, any key for its algorithm may have signed it. */
async function verifyWith(keys: JWTVerifyGetKey, token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      const verified = await jwtVerify(token, key, options).catch(ifOfAnother);
      if (verified !== undefined) return verified.payload;
      if (++tried === mostKeys) break;
    }
    throw error;
  }
}

/** Undefined if another key may have signed a token. */
function ifOfAnother(error: unknown): undefined {
  if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
}

/** Fault of a token, without any text of it. */
function faultOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (!(error instanceof errors.JWTClaimValidationFailed)) return "its token is not signed by a key of the provider";
  const setting = { iss: "AUTH_ISSUER", aud: "AUTH_AUDIENCE" }[error.claim];
  return setting === undefined
    ? `its claim ${error.claim} is missing or wrong`
    : `its ${error.claim} is not ${setting}`;
}
