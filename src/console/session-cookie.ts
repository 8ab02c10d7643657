// The cookie of a person who is signed in. It holds the token that signed in and the end of the session, sealed with a key: a
// browser can neither read nor alter it. Neither the cookie alone nor the database alone gives the token away, and a backup is
// not enough to make a cookie, because that takes a valid token.
import { cipherOf, ivBytes } from "../management/service-secret.ts";
import type { SecretKey } from "../management/service-secret.ts";
import { isKnownSecure } from "./addresses.ts";

/** How long a session lasts, in ms. */
const sessionTime = 12 * 3_600_000;

/** A session. Its id is the random part of its seal. It ends at `endsAt`, in Unix ms, if nothing ends it sooner. */
export type Session = { id: string; token: string; endsAt: number };

const purpose = "session";
const ivCharacters = 4 / 3 * ivBytes; // in base 64

/** The value of a cookie for a token. */
export async function sealSession(key: SecretKey, token: string, now: number): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const text = new TextEncoder().encode(`${now + sessionTime} ${token}`);
  const sealed = await crypto.subtle.encrypt(cipherOf(iv, purpose), key, text);
  return toBase64(new Uint8Array([...iv, ...new Uint8Array(sealed)]));
}

/** The session in a cookie, which may have ended; undefined if the cookie was not sealed with the key. */
export async function openSession(key: SecretKey, cookie: string): Promise<Session | undefined> {
  const bytes = cookiePattern.test(cookie) ? fromBase64(cookie) : undefined;
  // Base 64 has several spellings of some bytes, which differ in bits that say nothing.
  if (bytes === undefined || toBase64(bytes) !== cookie) return undefined;
  const iv = bytes.slice(0, ivBytes), sealed = bytes.slice(ivBytes);
  const opened = await crypto.subtle.decrypt(cipherOf(iv, purpose), key, sealed).catch(() => undefined);
  const [, endsAt, token] = /^(\d+) (.+)$/s.exec(new TextDecoder().decode(opened)) ?? [];
  return token === undefined ? undefined : { id: cookie.slice(0, ivCharacters), token, endsAt: Number(endsAt) };
}

const cookiePattern = /^[\w-]{60,4000}$/;

const toBase64 = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (byte) => byte.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The names of the cookie on https and on http. A browser takes the first one over https alone. */
const names = { secure: "__Secure-pl_session", plain: "pl_session" };

/** The value of the session's cookie in a request. */
export function readCookie({ headers }: Request): string | undefined {
  const pairs = (headers.get("Cookie") ?? "").split(/; */).map((pair) => pair.split("="));
  return [names.secure, names.plain].map((name) => pairs.find(([found]) => found === name)?.[1])
    .find((value) => value !== undefined);
}

/**
 * The header that sets the cookie, or removes it without a value. It has no path: the browser takes that of the page, which is
 * the console's wherever a host has mounted it. So only pages directly below the console may send it.
 */
export function cookieHeader(request: Request, value: string | undefined): string {
  const isNamedSecure = isKnownSecure(request);
  // A form tells its scheme even where the proxy does not. A link tells none, so the name cannot depend on that.
  const isSecure = isNamedSecure || request.headers.get("Origin")?.startsWith("https:") === true;
  const attributes = ["HttpOnly", "SameSite=Strict", `Max-Age=${value === undefined ? 0 : sessionTime / 1000}`];
  return [`${isNamedSecure ? names.secure : names.plain}=${value ?? ""}`, ...attributes, ...isSecure ? ["Secure"] : []]
    .join("; ");
}
