// An identity provider for tests: keys of its own, made by Web Crypto, and tokens that it signs, or that somebody forges. It shares
// no code with what checks them.
import { Buffer } from "node:buffer";

type Algorithm = "RS256" | "ES256" | "EdDSA";

const parameters = {
  RS256: { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
};

export type Signer = { kid: string; jwk: JsonWebKey; sign(header: object, claims: object | string): Promise<string> };

const encode = (data: string | ArrayBuffer): string =>
  (typeof data === "string" ? Buffer.from(data) : Buffer.from(data)).toString("base64url");

/** The first two parts of a token. */
const unsigned = (header: object, claims: object | string): string =>
  `${encode(JSON.stringify(header))}.${encode(typeof claims === "string" ? claims : JSON.stringify(claims))}`;

/** Makes a key pair. Its tokens say that they are signed with it, unless the header of one says otherwise. */
export async function createSigner(alg: Algorithm, kid: string): Promise<Signer> {
  const { publicKey, privateKey } = await crypto.subtle.generateKey(parameters[alg], true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  return {
    kid,
    jwk: {
      ...await crypto.subtle.exportKey("jwk", publicKey),
      kid,
      use: "sig",
      alg,
      key_ops: ["verify"],
    } as JsonWebKey,
    async sign(header, claims) {
      const text = unsigned({ alg, kid, typ: "JWT", ...header }, claims);
      return `${text}.${encode(await crypto.subtle.sign(parameters[alg], privateKey, Buffer.from(text)))}`;
    },
  };
}

/** A token without a signature. */
export const signNothing = (claims: object, alg = "none"): string => `${unsigned({ alg, typ: "JWT" }, claims)}.`;

/** A token that is signed with a text as a shared secret: a public key, say, which everybody knows. */
export async function signWithText(secret: string, header: object, claims: object): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", Buffer.from(secret), algorithm, false, ["sign"]);
  const text = unsigned({ alg: "HS256", typ: "JWT", ...header }, claims);
  return `${text}.${encode(await crypto.subtle.sign("HMAC", key, Buffer.from(text)))}`;
}

/** What serves the keys, in the place of `fetch`: `answer` makes the response, and `urls` are those that were asked for. */
export function createKeyServer(keys: JsonWebKey[]) {
  const server = {
    keys,
    urls: [] as string[],
    answer: (): Response | Promise<Response> => Response.json({ keys: server.keys }),
    fetch: (async (input: RequestInfo | URL) => {
      server.urls.push(String(input));
      return await server.answer();
    }) as typeof fetch,
  };
  return server;
}
