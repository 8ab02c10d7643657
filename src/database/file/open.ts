// Opens any database, including files, which not every runtime has.
import process from "node:process";
import { openRemote } from "../client.ts";
import type { Client, DatabaseSource } from "../client.ts";
import { serialized } from "./connection.ts";
import { bind } from "../database.ts";
import type { Database, Purpose } from "../database.ts";
import { openFile } from "./file.ts";
import { claimFile } from "./file-claim.ts";
import { sendOnNode } from "./node-send.ts";
import { text } from "../row.ts";
import { isLocal, urlOf } from "./source.ts";
import { readingBytes } from "./stored-text.ts";

/** Opens a database lazily: nothing is opened or sent before the first operation. */
export function openDatabase(source: DatabaseSource, purpose: Purpose = "manage"): Database {
  return isLocal(source) ? openFile(urlOf(source), purpose) : openRemote(source, purpose, openFileClient, send);
}

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
const send = isNode ? sendOnNode : undefined;

/** Opens the file of an embedder's client, which runs one operation at a time and is claimed like any other file. */
function openFileClient(client: Client, database: Database, purpose: Purpose): Database {
  const connection = {
    ...readingBytes(database, async (statement) => {
      const { sql, args } = bind(statement);
      const { columns, columnTypes } = await client.execute({ sql: `select * from (${sql}\n) limit 0`, args });
      return columns.map((name, index) => ({ name, type: columnTypes[index] || null }));
    }),
    async findPath() {
      const [main] = await database.read({ sql: "select file from pragma_database_list where name = 'main'" });
      return text(main!, "file");
    },
    // After a busy error the client leaves a statement open on its connection, and later commits fail there.
    reopen: () => Promise.resolve(client.reconnect()),
  };
  return serialized(connection, purpose, claimFile);
}
