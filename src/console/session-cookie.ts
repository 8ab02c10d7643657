// The cookie of a person who is signed in. It holds the token of management that signed in and the end of the session,
// encrypted and authenticated with a key that is derived from the stored hash of the token. So it needs no table, works in
// every process, and dies with the hash: when the token is revoked, replaced or expires. Neither the cookie alone nor the
// database alone gives the token away, and who reads a backup cannot make a cookie.
import { sha256 } from "../common/ids.ts";

/** How long a session lasts, in ms. */
const sessionTime = 12 * 3_600_000;

/** The id in the cookie of the admin token, which is no token of the database. */
export const adminId = "admin";

const ivBytes = 12;

/** The value of a cookie for a token. `id` is that of the token, by which its hash is found again. */
export async function sealSession(token: string, id: string, now: number): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const text = new TextEncoder().encode(`${now + sessionTime} ${token}`);
  const sealed = await crypto.subtle.encrypt(algorithmOf(id, iv), await keyOf(await sha256(token)), text);
  return `${id}.${toBase64(new Uint8Array([...iv, ...new Uint8Array(sealed)]))}`;
}

/** The token in a cookie. Undefined if the session has ended, or `findHashes` gives no hash that the cookie was made with. */
export async function openSession(
  value: string,
  findHashes: (id: string) => Promise<string[]>,
  now: number,
): Promise<string | undefined> {
  const [, id, text] = /^(\w{1,64})\.([\w-]{40,400})$/.exec(value) ?? [];
  const bytes = text === undefined ? undefined : fromBase64(text);
  if (id === undefined || bytes === undefined) return undefined;
  const iv = bytes.slice(0, ivBytes), sealed = bytes.slice(ivBytes);
  for (const hash of await findHashes(id)) {
    const opened = await crypto.subtle.decrypt(algorithmOf(id, iv), await keyOf(hash), sealed).catch(() => undefined);
    if (opened === undefined) continue;
    const [, end, token] = /^(\d+) (.+)$/s.exec(new TextDecoder().decode(opened)) ?? [];
    return Number(end) > now ? token : undefined;
  }
  return undefined;
}

const algorithmOf = (id: string, iv: Uint8Array<ArrayBuffer>) => ({
  name: "AES-GCM",
  iv,
  additionalData: new TextEncoder().encode(id),
});

async function keyOf(hash: string) {
  const bytes = new TextEncoder().encode(`promptledger console session ${hash}`);
  const key = await crypto.subtle.digest("SHA-256", bytes);
  return await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
}

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
  const isKnownSecure = new URL(request.url).protocol === "https:" ||
    request.headers.get("X-Forwarded-Proto")?.split(",")[0]?.trim() === "https";
  // A form tells its scheme even where the proxy does not. A link tells none, so the name cannot depend on that.
  const isSecure = isKnownSecure || request.headers.get("Origin")?.startsWith("https:") === true;
  const attributes = ["HttpOnly", "SameSite=Strict", `Max-Age=${value === undefined ? 0 : sessionTime / 1000}`];
  return [`${isKnownSecure ? names.secure : names.plain}=${value ?? ""}`, ...attributes, ...isSecure ? ["Secure"] : []]
    .join("; ");
}
