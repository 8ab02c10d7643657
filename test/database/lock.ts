// Tries to lock a database file against everyone else, and prints the code of the error.
import process from "node:process";
import { removeLog } from "../../src/database/maintenance.ts";
import { openDatabase } from "../../src/database/open.ts";

const database = openDatabase(`file:${process.argv[2]}`);
await removeLog(database).then(() => console.log("locked"), (error) => console.log(error.code));
