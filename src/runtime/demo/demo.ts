// `promptledger demo`: serves a temporary database with a small history, and prints a link to its console and commands
// to paste.
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { readConfig } from "../settings/config.ts";
import { checkPort, command } from "../serving/boot.ts";
import { writeHistory } from "./demo-history.ts";
import { openConfigured } from "../serving/open-configured.ts";
import { openOwnFolder } from "../own-folder.ts";
import { serve } from "../serving/serve.ts";
import type { Terminal } from "../terminal.ts";

/** Serves the demo until a signal arrives. */
export async function demo({ say }: Terminal): Promise<void> {
  await checkPort(readConfig(process.env));
  const interrupt = () => process.exit(interrupted);
  process.once("SIGINT", interrupt);
  process.env.DATABASE_URL = `file:${join(await openOwnFolder(tmpdir(), "promptledger-demo-"), "demo.db")}`;
  // The place may hold backups of another database.
  delete process.env.BACKUP_TO;
  say("Making a history of three weeks …\n");
  // The link signs in with a token of the database.
  process.env.MANAGEMENT = "true";
  const { database } = await openConfigured(readConfig(process.env).database, "manage", { schema: "create" });
  const { workspaceId, deployId, key, token } = await writeHistory(database, Date.now());
  database.close();

  const { url, createLink } = await serve();
  process.off("SIGINT", interrupt);

  // An exported variable would outlast the demo in the shell, and point `npm start` at its database.
  const cli = `DATABASE_URL='${process.env.DATABASE_URL}' ${command}`;

  process.stdout.write(`
Look at it. This link signs in until the demo stops:

${createLink(token)}

Read the active prompt:

curl -i '${url}/v1/prompts?deployId=${deployId}' -H 'Authorization: Bearer ${key}'

Record the outcome of a call:

curl -i '${url}/v1/diagnosis?deployId=${deployId}' -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"sessionId":"demo-1","status":1,"content":{"input":"Where is my parcel?","output":"It arrives tomorrow."},"latency":840,"additional_properties":{"trace_id":"4bf92f35","token_usage":{"prompt_tokens":52,"completion_tokens":9}}}'

See what is recorded and counted, and check that the ledger balances:

${cli} record list --deploy support/assistant@production --session demo-1
${cli} usage --workspace ${workspaceId}
${cli} verify

Ctrl-C stops the service and removes its database, ${process.env.DATABASE_URL}
`);
}

const interrupted = 130; // as a shell reports a program that Ctrl-C ended
