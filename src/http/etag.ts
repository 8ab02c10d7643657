// Entity tags, by which a client says what it has already.
import { sha256 } from "../common/ids.ts";

/** A strong entity tag: the hash of the bytes that are served. */
export const tagOf = async (text: string): Promise<string> => `"${(await sha256(text)).slice(0, 32)}"`;

/** Whether the request's If-None-Match names a tag; a proxy may have made it a weak one. */
export function isAmong(tag: string, { headers }: Request): boolean {
  const header = headers.get("If-None-Match");
  if (header === null) return false;
  return header.trim() === "*" || header.split(",").some((known) => known.trim().replace(/^W\//, "") === tag);
}
