// Tries to lock a database file against everyone else, without waiting, and prints the code of the error.
import process from "node:process";
import Libsql from "libsql";
import { uriOf } from "../../src/database/file/file-claim.ts";

try {
  // Only the sole connection to a file may leave this mode.
  new Libsql(uriOf(process.argv[2]!, "rw"), { timeout: 0 }).exec("pragma journal_mode = delete");
  console.log("locked");
} catch (error) {
  console.log((error as { code: string }).code);
}
