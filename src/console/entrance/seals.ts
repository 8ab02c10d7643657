// Seals texts for cookies: a browser can neither read nor alter them. A seal is for one purpose.
import { cipherOf, ivBytes } from "../../management/kernel/service-secret.ts";
import type { SecretKey } from "../../management/kernel/service-secret.ts";

/** A text that was sealed. Its id is the random part of its seal. */
export type Sealed = { id: string; text: string };

const idCharacters = 4 / 3 * ivBytes; // in base 64

/** Seals a text for a cookie. */
export async function seal(key: SecretKey, purpose: string, text: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const sealed = await crypto.subtle.encrypt(cipherOf(iv, purpose), key, new TextEncoder().encode(text));
  return toBase64(new Uint8Array([...iv, ...new Uint8Array(sealed)]));
}

/** The text in a cookie; undefined if it was not sealed with the key for this purpose. */
export async function unseal(key: SecretKey, purpose: string, cookie: string): Promise<Sealed | undefined> {
  const bytes = cookiePattern.test(cookie) ? fromBase64(cookie) : undefined;
  // Base 64 has several spellings of some bytes, which differ in unused bits.
  if (bytes === undefined || toBase64(bytes) !== cookie) return undefined;
  const iv = bytes.slice(0, ivBytes), sealed = bytes.slice(ivBytes);
  const opened = await crypto.subtle.decrypt(cipherOf(iv, purpose), key, sealed).catch(() => undefined);
  return opened && { id: cookie.slice(0, idCharacters), text: new TextDecoder().decode(opened) };
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
