// Properties of a database's source, before it is opened.
import { filePathOf, isFileUrl } from "../location.ts";
import type { DatabaseSource } from "../client.ts";

/** The URL; empty for a client of the caller. */
export const urlOf = (source: DatabaseSource): string =>
  typeof source === "string" ? source : "url" in source ? source.url : "";

/** True if a database is a file or in memory. */
export const isLocal = (source: DatabaseSource): boolean => isFileUrl(urlOf(source)) || urlOf(source) === ":memory:";

/** The path of the file of a database; undefined if it is on a server, in memory or a client of the caller. */
export function fileOf(source: DatabaseSource): string | undefined {
  const url = urlOf(source);
  const path = isFileUrl(url) ? filePathOf(url) : ":memory:";
  return path === ":memory:" ? undefined : path;
}
