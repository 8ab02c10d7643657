// Reads on the reader thread of a file, prints the rows, and leaves all open.
import process from "node:process";
import { openMigrated } from "../../src/database/file/open-migrated.ts";

const { database } = await openMigrated(`file:${process.argv[2]}`, "serve");
console.log(JSON.stringify(await database.readAside!({ sql: "select 1 as one" })));
