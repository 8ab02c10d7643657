// Exits while the reader thread of a file is within a statement, or while it starts.
import process from "node:process";
import { openMigrated } from "../../src/database/file/open-migrated.ts";

const [, , path, isStarted] = process.argv;
const { database } = await openMigrated(`file:${path}`, "serve");
if (isStarted === "true") await database.readAside!({ sql: "select 1" });
const sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) select count(*) from n";
database.readAside!({ sql }).catch(() => {});
// The statement takes longer, and so does a start.
setTimeout(() => process.exit(7), 10);
