// Opens whatever database is named: where there are files, a file too.
import { isFileUrl } from "../config.ts";
import { openRemote } from "./client.ts";
import type { DatabaseSource } from "./client.ts";
import type { Database, Purpose } from "./database.ts";
import { openFile } from "./file.ts";

/** Opens a database. The first use of it applies what a file needs; a server is asked nothing until then. */
export function openDatabase(source: DatabaseSource, purpose: Purpose = "serve"): Database {
  const url = typeof source === "string" ? source : "url" in source ? source.url : "";
  return isFileUrl(url) || url === ":memory:" ? openFile(url, purpose) : openRemote(source, purpose);
}
