// Opens whatever database is named: where there are files, a file too.
import { filePathOf, isFileUrl } from "../config.ts";
import { openRemote } from "./client.ts";
import type { DatabaseSource } from "./client.ts";
import type { Database, Purpose } from "./database.ts";
import { openFile } from "./file.ts";

/** Opens a database. The first use of it applies what a file needs; a server is asked nothing until then. */
export function openDatabase(source: DatabaseSource, purpose: Purpose = "serve"): Database {
  const url = urlOf(source);
  return isFileUrl(url) || url === ":memory:" ? openFile(url, purpose) : openRemote(source, purpose);
}

/** The path of the file that a database is in; undefined where it is on a server, in memory or a client of the caller's. */
export function fileOf(source: DatabaseSource): string | undefined {
  const url = urlOf(source);
  const path = isFileUrl(url) ? filePathOf(url) : ":memory:";
  return path === ":memory:" ? undefined : path;
}

const urlOf = (source: DatabaseSource): string =>
  typeof source === "string" ? source : "url" in source ? source.url : "";
