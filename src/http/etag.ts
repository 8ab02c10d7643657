// Entity tags, by which a client skips unchanged content.
import { sha256 } from "../common/ids.ts";

/** Makes a strong entity tag from the hash of a text. */
export const tagOf = async (text: string): Promise<string> => `"${(await sha256(text)).slice(0, 32)}"`;

/** True if the request's If-None-Match header has a tag, which a proxy may have weakened. */
export function isAmong(tag: string, { headers }: Request): boolean {
  const header = headers.get("If-None-Match");
  if (header === null) return false;
  return header.trim() === "*" || header.split(",").some((known) => known.trim().replace(/^W\//, "") === tag);
}
