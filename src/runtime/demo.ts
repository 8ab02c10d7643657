// `promptledger demo`: serves a throw-away database with a small history, and prints a link to its console and commands to
// paste.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { readConfig } from "../common/config.ts";
import { command, openConfigured } from "./boot.ts";
import { writeHistory } from "./demo-history.ts";
import { serve } from "./serve.ts";

/** Serves the demo until a signal arrives. */
export async function demo(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "promptledger-demo-"));
  process.env.DATABASE_URL = `file:${join(folder, "demo.db")}`;
  // The link signs in with a token of the database.
  process.env.MANAGEMENT = "true";
  const { database } = await openConfigured(readConfig(process.env), "manage");
  const { workspaceId, deployId, key, token } = await writeHistory(database, Date.now());
  database.close();

  const { url, createLink } = await serve();

  // An exported variable would outlast the demo in the shell, and point `npm start` at its database.
  const cli = `DATABASE_URL='${process.env.DATABASE_URL}' ${command}`;

  process.stdout.write(`
Look at it. This link signs in once:

${createLink(token)}

Read the active prompt:

curl -i '${url}/v1/prompts?deployId=${deployId}' -H 'Authorization: Bearer ${key}'

Record what came of it:

curl -i '${url}/v1/diagnosis?deployId=${deployId}' -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"sessionId":"demo-1","status":1,"content":{"input":"Where is my parcel?","output":"It arrives tomorrow."},"latency":840,"additional_properties":{"trace_id":"4bf92f35","token_usage":{"prompt_tokens":52,"completion_tokens":9}}}'

See what is recorded and counted, and check that the ledger balances:

${cli} diagnosis list --deploy support/assistant@production --session demo-1
${cli} usage --workspace ${workspaceId}
${cli} verify

Ctrl-C stops the service; its database is ${process.env.DATABASE_URL}
`);
}
