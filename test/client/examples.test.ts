// The examples of src/client/README.md for the AI SDK, the providers' clients and traces work as they stand. They run against the
// real service, and a model server in the place of the provider.
// Runs on Node alone.
import { mkdir, writeFile } from "node:fs/promises";
import { createOpenAICompatible } from "openai-compatible-2";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Client } from "../../src/client/index.ts";
import { promoteDeployment, pushPrompt } from "../actions.ts";
import { createFolder } from "../conformance/processes.ts";
import { blocksOf, documentAt, sectionOf } from "../documents.ts";
import { createWorld, promptFile, toPrompt } from "../helpers.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";
import { loadAiSdk7 } from "./ai-sdk-7.ts";
import { startModelServer } from "./model-server.ts";
import { createClient } from "./patient.ts";
import { reference } from "./stage.ts";

const test = suite("examples of the client");

// Examples are the same on every runtime.
if (currentRuntime === "Node") {
  const folder = await createFolder();
  const server = await startModelServer();
  const world = await createWorld();
  const clients: Client[] = [];
  const attributes: object[] = [];
  const ai7 = await loadAiSdk7({ install: isFull });
  test.after(async () => {
    server.close();
    await folder.remove();
  });

  const create = ai7?.createOpenAICompatible ?? createOpenAICompatible;
  // What the examples import besides the AI SDK.
  const modules: Record<string, Record<string, unknown>> = {
    "@ai-sdk/openai": { openai: create({ name: "openai", baseURL: server.url, includeUsage: true }) },
    "@opentelemetry/api": {
      trace: { getActiveSpan: () => ({ setAttributes: (given: object) => attributes.push(given) }) },
    },
    openai: {
      default: class {
        chat = {
          completions: {
            create: async (body: object) =>
              await (await fetch(`${server.url}/chat/completions`, { method: "POST", body: JSON.stringify(body) }))
                .json(),
          },
        };
      },
    },
    "promptledger/client": {
      createClient() {
        const client = createClient({ apiKey: world.key, fetch: world.fetch, watch: false });
        clients.push(client);
        return client;
      },
    },
  };
  const paths: Record<string, string> = {
    ai: ai7?.url ?? import.meta.resolve("ai-6"),
    "promptledger/ai-sdk": `file://${pathOf("src/client/ai-sdk/index.ts")}`,
    "promptledger/providers": `file://${pathOf("src/client/providers/index.ts")}`,
  };
  Object.assign(globalThis, { exampleModules: modules });
  await mkdir(folder.path, { recursive: true });
  for (const [index, [name, exported]] of Object.entries(modules).entries()) {
    const path = `${folder.path}/module-${index}.mjs`;
    const lines = Object.keys(exported).map((member) => {
      const value = `globalThis.exampleModules["${name}"].${member};\n`;
      return member === "default" ? `export default ${value}` : `export const ${member} = ${value}`;
    });
    await writeFile(path, lines.join(""));
    paths[name] = `file://${path}`;
  }
  const messages = [
    { role: "system", content: "You answer customers of {{shop}}." },
    { role: "placeholder", content: "{{history}}" },
  ];
  const { version } = await pushPrompt(world.admin, world.promptId, toPrompt({ ...promptFile, messages }));
  await promoteDeployment(world.admin, world.deployId, { version });

  let count = 0;
  const runExample = async (code: string): Promise<void> => {
    const own = code.replaceAll("support/assistant@production", reference)
      .replaceAll(/from "([^"]+)"/g, (_, name) => `from "${paths[name]}"`);
    const file = `${folder.path}/example-${count++}.mts`;
    await writeFile(file, `// @ts-nocheck\n${own}`);
    await import(`file://${file}`);
    for (const client of clients.splice(0)) await client.close();
  };
  const stored = async () =>
    (await world.database.read({ sql: "select prompt_version, session_id, document from diagnoses order by position" }))
      .map(
        ({ prompt_version, session_id, document }) => {
          const { status, content, model } = JSON.parse(String(document));
          return [
            prompt_version,
            session_id === "order-4711",
            status,
            JSON.parse(content.input),
            content.output,
            model,
          ];
        },
      );

  const document = documentAt("src/client/README.md");
  const input = [
    { role: "system", content: "You answer customers of Acme." },
    { role: "user", content: "Where is my parcel?" },
  ];

  test("those of the AI SDK and of a provider's client record each call once", async () => {
    const [telemetry, middleware, ...others] = blocksOf(sectionOf(document, "The AI SDK"), "ts");
    const [provider, ...more] = blocksOf(sectionOf(document, "The providers' clients"), "ts");
    assert.equal([others, more], [[], []]);
    // The telemetry is that of 7, so without it this example is left out.
    if (ai7 !== undefined) await runExample(telemetry!);
    await runExample(provider!);
    // What is registered stays, and would record again what the middleware records.
    Object.assign(globalThis, { AI_SDK_TELEMETRY_INTEGRATIONS: [] });
    const { log } = console, said: unknown[] = [];
    console.log = (text) => said.push(text);
    try {
      await runExample(middleware!);
    } finally {
      console.log = log;
    }
    assert.equal(said, ["Hello", " Ada"]);
    const byTelemetry = [version, true, 1, input, "Hello Ada", "gpt-6-luna-2027"];
    assert.equal(await stored(), [
      ...(ai7 === undefined ? [] : [byTelemetry]),
      [version, true, 1, input, "Hello Ada", "gpt-4o-2027"],
      [version, false, 1, input, "Hello Ada", "gpt-6-luna-2027"],
    ]);
    assert.is(server.requests().length, ai7 === undefined ? 2 : 3);
  });

  test("that of traces names the prompt on the active span", async () => {
    const [example] = blocksOf(sectionOf(document, "Traces"), "ts");
    await runExample(example!);
    assert.equal(attributes, [{ "gen_ai.prompt.name": "greeting", "gen_ai.prompt.version": String(version) }]);
  });
}

test.run();
