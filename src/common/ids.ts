// Creates, recognizes and hashes ids and secrets. Uses Web Crypto alone, which every runtime has.
import { hasParts } from "./parts.ts";

const base32 = "0123456789abcdefghjkmnpqrstvwxyz";
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * An id of one noun, which its prefix names. It is not assignable to an id of another noun. The type does not guarantee
 * a form: ids from clients and from a database are not checked.
 */
export type Id<Prefix extends string> = `${Prefix}_${string}`;
export type WorkspaceId = Id<"ws">;
export type KeyId = Id<"key">;
export type PromptId = Id<"prompt">;
export type DeploymentId = Id<"dep">;
export type RecordId = Id<"diag">;
export type CallId = Id<"call">;
export type TokenId = Id<"token">;
export type PriceId = Id<"price">;
export type ReviewId = Id<"review">;
export type RolloutId = Id<"ro">;
export type WebhookId = Id<"wh">;
export type AlertId = Id<"alert">;
export type BudgetId = Id<"budget">;
export type ChangeRequestId = Id<"change">;

/** A new id: the prefix, then 48 bits of time (Unix ms) and 80 random bits in Crockford's base 32, as in a ULID. */
export const newId = <Prefix extends string>(prefix: Prefix, at: number): Id<Prefix> =>
  `${prefix}_${timeText(at)}${randomText(16)}`;

/** A new id for a request. Nothing sorts these by time, and a UUID costs a fraction of `newId`. */
export const newRequestId = (): string => `req_${crypto.randomUUID()}`;

/** True if a text has the form of an id from `newId`. */
export const isId = (prefix: string, text: string): boolean =>
  text.startsWith(`${prefix}_`) && /^[0-9a-z]{26}$/.test(text.slice(prefix.length + 1));

/** A new id for a commit. The ids of its calls and records are this with a prefix and the slot. */
export const newCommitId = (at: number): string => `${timeText(at)}${randomText(14)}`;

/** The id of the call or record in a slot of a commit, from 0 to 255. */
export const slotId = <Prefix extends "call" | "diag">(prefix: Prefix, commitId: string, slot: number): Id<Prefix> =>
  `${prefix}_${commitId}${slot.toString(16).padStart(2, "0")}`;

/** The commit and the slot in the id of a call or record; undefined for any other id. */
export function readSlotId(prefix: "call" | "diag", id: string): { commitId: string; slot: number } | undefined {
  const [, name, commitId, slot] = /^([a-z]+)_(\w{24})([0-9a-f]{2})$/.exec(id) ?? [];
  return name === prefix && commitId !== undefined ? { commitId, slot: parseInt(slot!, 16) } : undefined;
}

function timeText(at: number): string {
  let text = "";
  for (let rest = at, digit = 0; digit < 10; digit++) {
    text = base32.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function randomText(length: number): string {
  let text = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(length))) text += base32.charAt(byte & 31);
  return text;
}

/** An API key begins with `pl_`, a management token with `plm_`, so that neither can be taken for the other. */
type SecretPrefix = "pl_" | "plm_";

/** A new secret: the prefix, 256 random bits and a CRC-32, in base 62. */
function newSecret(prefix: SecretPrefix): string {
  const secret = newAdminToken();
  return `${prefix}${secret}${checksum(secret)}`;
}

/** A token for `ADMIN_TOKEN`: 256 random bits in base 62. */
export function newAdminToken(): string {
  let number = 0n;
  for (const byte of crypto.getRandomValues(new Uint8Array(32))) number = number * 256n + BigInt(byte);
  return toBase62(number, 43);
}

export const newApiKey = (): string => newSecret("pl_");
export const newToken = (): string => newSecret("plm_");

/** The characters of a secret that lists may show: six behind the prefix. */
export const secretPrefix = (secret: string): string => secret.slice(0, secret.indexOf("_") + 7);

const secretShape = /^(plm?_)([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** True if a text has the form of a secret. The checksum catches typing errors without a query. */
function isSecret(text: string, wanted: SecretPrefix): boolean {
  const [, prefix, secret = "", check] = secretShape.exec(text) ?? [];
  return prefix === wanted && checksum(secret) === check;
}

export const isApiKey = (text: string): boolean => isSecret(text, "pl_");
export const isToken = (text: string): boolean => isSecret(text, "plm_");

/** Masks API keys, management tokens and `others` in a text, but not texts that only begin like a key or token. */
export const withoutSecrets = (text: string, others: readonly string[] = []): string =>
  others.reduce(
    (masked, secret) => masked.replaceAll(secret, "…"),
    text.replace(
      /(plm?_)[0-9A-Za-z]{49}/g,
      (found, prefix) => isApiKey(found) || isToken(found) ? `${prefix}…` : found,
    ),
  );

/** True if `withoutSecrets` may have turned `text` into `masked`, with any other secrets. Takes linear time. */
export function isMaskOf(masked: string, text: string): boolean {
  const parts = masked.split("…");
  // A secret has at least one character.
  return withoutSecrets(text) === masked || parts.length > 1 && hasParts(text, parts, 1);
}

/** SHA-256 of a key in hexadecimal: the only form in which keys are stored. */
export const hashApiKey = (key: string): Promise<string> => sha256(key);

/** SHA-256 of a text in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toHexadecimal(new Uint8Array(digest));
}

/** Bytes in hexadecimal. */
export function toHexadecimal(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byteTexts[byte];
  return text;
}

const byteTexts = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A number in base 62, with leading zeros. */
export function toBase62(number: bigint, digits: number): string {
  let text = "";
  for (let rest = number, digit = 0; digit < digits; digit++) {
    text = base62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** The number of a text in base 62. */
export const fromBase62 = (text: string): bigint =>
  Array.from(text).reduce((number, digit) => number * 62n + BigInt(base62.indexOf(digit)), 0n);

/** CRC-32 (ISO-HDLC) of an ASCII text. */
function checksum(text: string): string {
  let crc = -1;
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return toBase62(BigInt(~crc >>> 0), 6);
}
