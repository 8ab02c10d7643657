// `promptledger demo`: serves a throw-away database with one of everything, and prints commands to paste.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createApiKey } from "../management/api-keys.ts";
import { createDeployment } from "../management/deployments.ts";
import { perform } from "../management/operation.ts";
import type { Operation } from "../management/operation.ts";
import { createPrompt } from "../management/versions.ts";
import { createWorkspace } from "../management/workspaces.ts";
import { readConfig } from "../common/config.ts";
import { jsonText } from "../common/json-text.ts";
import { command, openConfigured } from "./boot.ts";
import { serve } from "./serve.ts";

const prompt = {
  title: "Support assistant",
  description: "Answers customers of the demo shop",
  messages: jsonText(JSON.stringify([
    { role: "system", content: "You are a friendly assistant of {{shop}}. Answer in one paragraph." },
    { role: "user", content: "{{question}}" },
  ])),
  llmConfig: jsonText(JSON.stringify({ provider: "openai", model: "gpt-4o", temperature: 0.2 })),
};

/** Makes the database, serves it, and prints the commands. */
export async function demo(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "promptledger-demo-"));
  process.env.DATABASE_URL = `file:${join(folder, "demo.db")}`;

  const { database } = await openConfigured(readConfig(process.env), "manage");
  const caller = { source: "command line", actor: "demo", role: "owner" } as const;
  const call = <Input extends object, Output>(operation: Operation<Input, Output>, input: Input) =>
    perform(operation, { database, clock: Date.now, caller }, { value: input });
  const { id: workspaceId } = await call(createWorkspace, { name: "Demo", monthlyLimit: 1000 });
  const { key } = await call(createApiKey, { workspaceId, name: "demo" });
  const { id: promptId } = await call(createPrompt, { workspaceId, name: "support/assistant", ...prompt });
  const { id: deployId } = await call(createDeployment, { workspaceId, name: "production", promptId });
  database.close();

  const url = await serve();

  // An exported variable would outlast the demo in the shell, and point `npm start` at its database.
  const cli = `DATABASE_URL='${process.env.DATABASE_URL}' ${command}`;

  process.stdout.write(`
Read the active prompt:

curl -i '${url}/v1/prompts?deployId=${deployId}' -H 'Authorization: Bearer ${key}'

Record what came of it:

curl -i '${url}/v1/diagnosis?deployId=${deployId}' -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"sessionId":"demo-1","status":1,"content":{"input":"Where is my parcel?","output":"It arrives tomorrow."},"latency":840,"additional_properties":{"trace_id":"4bf92f35","token_usage":{"prompt_tokens":52,"completion_tokens":9}}}'

See what is recorded and counted, and check that the ledger balances:

${cli} diagnosis list --deploy support/assistant@production
${cli} usage --workspace ${workspaceId}
${cli} verify

Ctrl-C stops the service; its database is ${process.env.DATABASE_URL}
`);
}
