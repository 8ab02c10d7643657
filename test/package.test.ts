// The package as its users get it: packed, installed in an empty folder, and embedded on each runtime and in TypeScript.
// Runs on Node alone.
// Runs in CI alone.
import { execFile } from "node:child_process";
import { access, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import type { BuildOptions } from "esbuild";
import { publint } from "publint";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { migrations } from "../src/database/migrations.ts";
import { budgets } from "./budgets.ts";
import { createFolder, startProgram, until } from "./conformance/processes.ts";
import { blocksOf, documentAt, linksOf, sectionOf } from "./documents.ts";
import { modulesOf } from "./packages.ts";
import { currentRuntime, pathOf } from "./runtimes.ts";

const test = suite("package");

const run = async (cwd: string, command: string, ...args: string[]) =>
  (await promisify(execFile)(command, args, { cwd })).stdout;

/** The process that a chain of processes ends with: npm and its shell pass no signal on. */
async function lastDescendantOf(pid: number): Promise<number> {
  const processes = (await run(".", "ps", "-eo", "pid=,ppid=")).trim().split("\n").map((line) =>
    line.trim().split(/\s+/).map(Number)
  );
  const child = processes.find(([, parent]) => parent === pid)?.[0];
  return child === undefined ? pid : lastDescendantOf(child);
}

const installTimeoutMs = 600_000; // npm may take long to install what it then starts

/** How npm reaches its registry here, which programs that the tests start do not inherit. */
const npmSettings = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => /^npm_config_|_proxy$/i.test(entry[0])),
);

const commit = "0123456789abcdef0123456789abcdef01234567";

const embedding = `
import { createService } from "promptledger";
import { migrate } from "promptledger/migrate";
const applied = await migrate("file:ledger.db");
const service = createService({ database: "file:ledger.db", basePath: "/llm" });
const response = await service.fetch(new Request("https://example.com/llm/v1/prompts"));
const healthy = await service.fetch(new Request("https://example.com/llm/healthz"));
const { commit } = JSON.parse(await healthy.text());
console.log(response.status, await response.text(), applied.length, commit);
await service.close();
`;

// Tells how many connections have the write-ahead log open: that of the service, and that of its reader thread.
const looking = `
import { readdirSync, readlinkSync } from "node:fs";
import { createService } from "promptledger";
import { management } from "promptledger/management";
const adminToken = "admin-token-of-at-least-32-characters";
const service = createService({ database: "file:ledger.db", faces: [management({ adminToken })] });
const headers = { Authorization: "Bearer " + adminToken };
const { status } = await service.fetch(new Request("https://example.com/admin/v1/workspaces", { headers }));
const linkOf = (name) => {
  try {
    return readlinkSync("/proc/self/fd/" + name);
  } catch {
    return "";
  }
};
console.log(status, readdirSync("/proc/self/fd").filter((name) => linkOf(name).endsWith("/ledger.db-wal")).length);
await service.close();
`;

// Each mistake is an error where it is written.
const mistakes = `
import { consolePages } from "promptledger/console";
import { mcp } from "promptledger/mcp";
import { openapi } from "promptledger/openapi";
import { createLog, createService, openService, Refusal } from "promptledger";
import type { Log, LogFields, ServiceOptions, ServiceSettings } from "promptledger";
import { management } from "promptledger/management";
import type { MigrateOptions } from "promptledger/migrate";
import { createClient } from "@libsql/client";
const database = "file:ledger.db";
const client = createClient({ url: database });
const log: Log = createLog({ level: "info", format: "text", clock: Date.now, write: () => {} });
declare const pino: Record<"debug" | "info" | "warn" | "error", (first: unknown, second?: string) => void> & {
  child(): unknown;
};
createService({ database, log, basePath: "/llm" });
await using service = createService({ client });
const inFlight: number = service.countInFlight();
const fields: LogFields = { inFlight };
const settings: ServiceSettings = { log, basePath: "/llm", faces: [management({ adminToken: "x".repeat(32) })] };
const options: ServiceOptions = { database, ...settings };
const onNewer: MigrateOptions = { onNewer: "accept" };
const explain = (error: unknown): string => error instanceof Refusal ? error.kind + error.message : "";
// @ts-expect-error
createService({});
// @ts-expect-error
createService({ database, client });
// @ts-expect-error
createService({ database, basePath: "llm" });
// @ts-expect-error
createService({ database, adminToken: "secret" });
// @ts-expect-error
createService({ database, log: pino });
// @ts-expect-error
createService({ database, faces: [consolePages()] });
// @ts-expect-error
createService({ database, faces: [management(), consolePages()] });
// @ts-expect-error
createService({ database, faces: [mcp()] });
// @ts-expect-error
createService({ database, faces: [management(), openapi(), management()] });
// @ts-expect-error
openService({ database, faces: [openapi(), consolePages()] });
// @ts-expect-error
openService({ database, shema: "check" });
// @ts-expect-error
management({ token: true });
// @ts-expect-error
management({ tokens: "true" });
// @ts-expect-error
consolePages({ title: "Prompts" });
createService({ database, faces: [consolePages(), management({ adminToken: "" as string | undefined }), openapi()] }).admin.createWorkspace({ name: "Acme" });
createService({ database, faces: settings.faces });
const target = { key: "pl_1", deployId: "a@b" };
const record = { sessionId: "s", status: 1, content: { output: "" }, latency: 1.5 };
service.recordDiagnosis({ ...target, idempotencyKey: "once" }, { ...record, more: { any: 1 } });
// @ts-expect-error
service.recordDiagnosis(target, { ...record, sessionId: 1 });
// @ts-expect-error
service.recordDiagnosis(target, { ...record, status: "1" });
// @ts-expect-error
service.recordDiagnosis(target, { ...record, content: { input: 1 } });
// @ts-expect-error
service.recordDiagnosis(target, { ...record, latency: "1.5" });
// @ts-expect-error
service.recordDiagnosis(target, { sessionId: "s", status: 1 });
// @ts-expect-error
service.recordDiagnosis({ ...target, idempotencyKey: 1 }, record);
const served: Promise<{ title: string; quota: { used: number } }> = service.readPrompt(target);
// @ts-expect-error
service.readPrompt({ ...target, key: 1 });
// @ts-expect-error
service.readPrompt({ key: "pl_1" });
// @ts-expect-error
service.readPrompt({ ...target, version: 1 });
`;

const readme = documentAt("README.md");
const [shownEmbedding] = blocksOf(sectionOf(readme, "Embedding"), "ts");
const shownCalls = blocksOf(sectionOf(documentAt("src/http/README.md"), "Embedding"), "ts");
const callModel = "declare function callModel(model: string, messages: { role: string }[]): Promise<string>;\n";
const [shownApp, shownFetchingApp] = [
  ...blocksOf(sectionOf(readme, "Use it from an app"), "ts"),
  ...blocksOf(sectionOf(documentAt("src/http/README.md"), "Call it by fetch"), "ts"),
].map((app) => `${callModel}${app}export {};\n`);

/** Of the client alone. Each mistake is an error where it is written. */
const clientUse = `
import { createClient, QuotaExceededError } from "promptledger-client";
import type { Client, DiagnosisItem, Message, Prompt, TypedPrompt } from "promptledger-client";
import { forAiSdk, ledgerMiddleware, ledgerTelemetry } from "promptledger-client/ai-sdk";
import { recordOpenAI } from "promptledger-client/providers";
const fetch = () => Promise.resolve(new Response('{"error":"Invalid API key"}', { status: 401 }));
const ledger: Client = createClient({ apiKey: "pl_1", fetch, mask: (record) => ({ ...record, content: {} }) });
ledger.on("error", ({ error }) => error instanceof QuotaExceededError ? error.resetAt.getTime() : error.code);
const fallback = { messages: [{ role: "user", content: "{{a}}" }], llmConfig: { model: "small" } };
const prompt: Prompt<{ model: string }> = await ledger.prompt<{ model: string }>("a@b", { fallback });
const messages: Message[] = prompt.fill({ a: 1 }, { history: [{ role: "user", content: "x" }] }, { missing: "keep" });
prompt.call().done({ status: 1, input: messages, output: null, usage: { prompt_tokens: 1 } });
const record: DiagnosisItem = { deployId: "a@b", sessionId: "s", status: 1, content: { output: "" }, extra: { a: 1 } };
const submitted: Promise<{ id: string } | string> = ledger.submit(record).catch(({ code }) => code as string);
const completion = { choices: [{ message: { content: "Hello" } }] };
const same: typeof completion = await recordOpenAI(prompt.call(), Promise.resolve(completion), { input: messages });
async function* parts() {
  yield completion;
}
const streamed: AsyncIterable<typeof completion> = await recordOpenAI(prompt.call(), parts());
console.assert(same === completion && Boolean(streamed && ledgerTelemetry(ledger) && ledgerMiddleware(ledger)));
console.assert(forAiSdk(prompt, { a: 1 }).messages[0]!.content === "1");
console.log(prompt.llmConfig.model, messages[0]!.content, await submitted, (await ledger.close()).failed);
type Known = { variables: "a"; lists: never; llmConfig: { model: string } };
const typed: Client<{ "a@b": Known }> = createClient<{ "a@b": Known }>({ apiKey: "pl_1", fetch });
function mistakes(known: TypedPrompt<Known>) {
  known.fill({ a: known.llmConfig.model });
  // @ts-expect-error
  known.fill({ b: 1 });
  // @ts-expect-error
  typed.prompt("b@a");
  // @ts-expect-error
  ledger.on("nothing", () => {});
  // @ts-expect-error
  createClient({ urls: "" });
  // @ts-expect-error
  prompt.fill({ a: {} });
  // @ts-expect-error
  prompt.fill({ a: 1 }, { missing: "keep" });
  // @ts-expect-error
  prompt.call().done({ output: "" });
  // @ts-expect-error
  prompt.messages.push({ role: "user", content: "" });
  // @ts-expect-error
  ledger.submit({ deployId: "a@b", status: 1, content: {} });
}
export { mistakes };
`;

/** Of the client beside the AI SDK, in any version. */
const aiUse = `
import { generateText, streamText, wrapLanguageModel } from "ai";
import { createClient } from "promptledger-client";
import type { TypedPrompt } from "promptledger-client";
import { forAiSdk, ledgerMiddleware, ledgerTelemetry } from "promptledger-client/ai-sdk";
declare const own: Parameters<typeof wrapLanguageModel>[0]["model"];
declare const known: TypedPrompt<{ variables: "a"; lists: "history"; llmConfig: { model: string } }>;
const ledger = createClient({ apiKey: "pl_1" });
const model = wrapLanguageModel({ model: own, middleware: [ledgerMiddleware(ledger)] });
const prompt = await ledger.prompt("a@b");
const settings = forAiSdk(prompt, { a: 1 }, { sessionId: "s", lists: { history: [] }, missing: "empty" });
const { text, usage } = await generateText({ model, ...settings, maxRetries: 0 });
streamText({ model, ...forAiSdk(known, known.fill({ a: 1 }, { history: [] })), temperature: 1 });
streamText({
  model,
  ...settings,
  messages: [...settings.messages, { role: "user", content: text }],
  providerOptions: { ...settings.providerOptions, openai: { user: "ada" } },
});
export const telemetry = ledgerTelemetry(ledger, { prompt: known });
// @ts-expect-error
forAiSdk(prompt, { a: {} });
// @ts-expect-error
ledgerMiddleware({});
console.log(usage.inputTokens);
`;

/** The same with what only AI SDK 7 has. */
const ai7Use = `${aiUse}
import { registerTelemetry } from "ai";
registerTelemetry(telemetry);
generateText({ model, ...settings, telemetry: { integrations: [telemetry] } });
`;

// Packing is the same on every runtime.
if (currentRuntime === "Node") {
  const folder = await createFolder();
  test.after(() => folder.remove());
  const app = `${folder.path}/app`, page = `${folder.path}/page`;
  const checkout = `${folder.path}/checkout`;
  const tarballs: string[] = [];

  test("is packed and installs in an empty folder", async () => {
    // Packing compiles, which other tests of this checkout must not see half done.
    await mkdir(checkout);
    for (
      const name of [
        "src",
        "package.json",
        "tsconfig.json",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
      ]
    ) {
      await cp(pathOf(name), `${checkout}/${name}`, { recursive: true });
    }
    // Of the tests only their documents are packed.
    await cp(pathOf("test"), `${checkout}/test`, { recursive: true, filter: (path) => !/\.(ts|js)$/.test(path) });
    await symlink(pathOf("node_modules"), `${checkout}/node_modules`);
    await mkdir(`${checkout}/.git`);
    await writeFile(`${checkout}/.git/HEAD`, `${commit}\n`);
    await run(checkout, "npm", "pack", "--silent", "--pack-destination", folder.path);
    const [tarball] = (await readdir(folder.path)).filter((name) => name.endsWith(".tgz"));
    await mkdir(app);
    await writeFile(`${app}/package.json`, JSON.stringify({ private: true, type: "module" }));
    await run(app, "npm", "install", "--silent", "--no-audit", "--no-fund", `../${tarball}`);
    tarballs.push(`${folder.path}/${tarball}`);
    await writeFile(`${app}/embed.js`, embedding);
    await writeFile(`${app}/embed.ts`, embedding);
    await writeFile(`${app}/looking.ts`, looking);
    await writeFile(`${app}/looking.js`, looking);
    await writeFile(`${app}/mistakes.ts`, mistakes);
  });

  test.full("the client is packed and installs in an empty folder", async () => {
    await run(checkout, "npm", "run", "--silent", "pack:client");
    const [tarball] = (await readdir(checkout)).filter((name) => name.endsWith(".tgz"));
    await mkdir(page);
    await writeFile(`${page}/package.json`, JSON.stringify({ private: true, type: "module" }));
    await run(page, "npm", "install", "--silent", "--no-audit", "--no-fund", `../checkout/${tarball}`);
    await writeFile(`${page}/use.ts`, clientUse);
    tarballs.push(`${checkout}/${tarball}`);
  });

  test("installs no compiler, and nothing that runs a script", async () => {
    const { packages } = JSON.parse(await readFile(`${app}/node_modules/.package-lock.json`, "utf8"));
    const names = Object.keys(packages);
    assert.ok(names.includes("node_modules/promptledger"));
    assert.equal(names.filter((name) => /\/(tsx|esbuild|typescript)$/.test(name)), []);
    assert.equal(names.filter((name) => packages[name].hasInstallScript), []);
    assert.ok(names.length <= budgets.installed.packages, `${names.length} packages`);
    const megabytes = parseInt(await run(app, "du", "-sk", ".")) * 1024 / 1e6;
    assert.ok(megabytes <= budgets.installed.megabytes, `${megabytes} MB`);
  });

  test("says where it comes from, and what it is about", async () => {
    const script =
      'import manifest from "promptledger/package.json" with { type: "json" }; console.log(JSON.stringify(manifest))';
    const manifest = JSON.parse(await run(app, "node", "--no-warnings", "--input-type=module", "--eval", script));
    assert.is(manifest.repository.url, "git+https://github.com/promptledger/promptledger.git");
    assert.ok(manifest.keywords.includes("prompt-management"));
  });

  const clientExports = [
    "AuthenticationError",
    "InvalidRequestError",
    "MissingVariablesError",
    "NotFoundError",
    "PromptLedgerError",
    "QuotaExceededError",
    "UnavailableError",
    "createClient",
  ];
  const service = [
    "MissingVariablesError",
    "Refusal",
    "createLog",
    "createService",
    "fromPino",
    "openService",
    "render",
  ];
  const entries: [name: string, exported: string[]][] = [
    ["promptledger", service],
    ["promptledger/ai-sdk", ["forAiSdk", "ledgerMiddleware", "ledgerTelemetry", "tracePrompt"]],
    ["promptledger/client", clientExports],
    ["promptledger/console", ["consolePages"]],
    ["promptledger/feedback", ["feedback"]],
    ["promptledger/management", ["management"]],
    ["promptledger/mcp", ["mcp"]],
    ["promptledger/migrate", ["Refusal", "migrate"]],
    ["promptledger/node", ["toNodeHandler"]],
    ["promptledger/openapi", ["openapi"]],
    ["promptledger/providers", ["recordAnthropic", "recordGemini", "recordOpenAI", "tracePrompt"]],
    ["promptledger/testing", ["createTestService"]],
    ["promptledger/worker", [...service, "default", "migrate"].sort()],
  ];
  let exportsByName: Promise<Record<string, string[]>> | undefined;
  const listExports = async () => {
    const names = JSON.stringify(entries.map(([name]) => name));
    const script = `console.log(JSON.stringify(Object.fromEntries(await Promise.all(
      ${names}.map(async (name) => [name, Object.keys(await import(name)).sort()])))))`;
    return JSON.parse(await run(app, "node", "--input-type=module", "--eval", script)) as Record<string, string[]>;
  };
  for (const [name, exported] of entries) {
    test(`${name} exports ${exported.join(", ")}`, async () => {
      exportsByName ??= listExports();
      assert.equal((await exportsByName)[name], exported);
    });
  }

  test("its other files cannot be imported", async () => {
    const script = 'await import("promptledger/dist/http/service.js").catch(({ code }) => console.log(code))';
    assert.is(await run(app, "node", "--input-type=module", "--eval", script), "ERR_PACKAGE_PATH_NOT_EXPORTED\n");
  });

  const expected = (applied: number) =>
    `401 {"error":"Missing or invalid authorization header"} ${applied} ${commit.slice(0, 12)}\n`;

  const runs: [name: string, ...command: string[]][] = [
    ["Node, without any loader", "node", "embed.js"],
    ["Bun", pathOf("node_modules/.bin/bun"), "embed.ts"],
    ["Deno", pathOf("node_modules/.bin/deno"), "run", "--quiet", "--allow-all", "embed.ts"],
  ];
  for (const [name, command, ...args] of runs) {
    test(`is embedded on ${name}`, async () => {
      await rm(`${app}/ledger.db`, { force: true });
      assert.is(await run(app, command!, ...args), expected(migrations.length));
    });
  }

  // Only Linux tells what a process has open.
  if (process.platform === "linux") {
    for (const [name, command, ...args] of runs) {
      test.full(`reads on a thread of its own on ${name}`, async () => {
        const files = args.map((arg) => arg.replace("embed", "looking"));
        assert.is(await run(app, command!, ...files), "200 2\n");
      });
    }
  }

  test("is embedded as the README shows", async () => {
    await rm(`${app}/ledger.db`, { force: true });
    await writeFile(`${app}/shown.js`, shownEmbedding!);
    await writeFile(`${app}/shown.ts`, shownEmbedding!);
    await writeFile(`${app}/shown-app.ts`, shownApp!);
    await writeFile(`${app}/shown-fetching-app.ts`, shownFetchingApp!);
    for (const [index, shown] of shownCalls.entries()) {
      await writeFile(`${app}/shown-calls-${index}.ts`, `${shown}export {};\n`);
    }
    const script = `
      const { default: shown } = await import("./shown.js");
      const { status } = await shown.fetch(new Request("https://example.com/readyz"));
      console.log(status);
      process.exit();`;
    assert.is(await run(app, "node", "--input-type=module", "--eval", script), "200\n");
  });

  test.full("its calls without HTTP, and its service for tests, work as the documents show", async () => {
    await rm(`${app}/ledger.db`, { force: true });
    for (const index of shownCalls.keys()) {
      const printed = await run(app, pathOf("node_modules/.bin/bun"), `shown-calls-${index}.ts`);
      assert.match(
        printed,
        index === 0 ? /customers of Acme[^]* 1\ndiag_\w+\nnot_found deployment_not_found / : /^Greeting\n$/,
      );
    }
  });

  /** What others bundle beside files of theirs, where the package has files of the same names. */
  const bundle = async (options: BuildOptions): Promise<string> => {
    const folder = `${app}/bundled`;
    await mkdir(`${folder}/sql`, { recursive: true });
    await writeFile(`${folder}/sql/001-host.sql`, "create table host (id integer);\n");
    await build({
      entryPoints: [`${app}/embed.js`],
      bundle: true,
      outdir: `${folder}/dist`,
      format: "esm",
      logLevel: "error",
      ...options,
    });
    return folder;
  };

  test.full("is bundled by esbuild, and brings its own migrations", async () => {
    const folder = await bundle({ platform: "node", target: "node20", external: ["libsql", "@libsql/client"] });
    assert.is(await run(`${folder}/dist`, "node", "embed.js"), expected(migrations.length));
  });

  if (process.platform === "linux") {
    test.full("reads on one thread alone in a bundle, which has no file to start another with", async () => {
      const external = ["libsql", "@libsql/client"];
      const folder = await bundle({ entryPoints: [`${app}/looking.js`], platform: "node", target: "node20", external });
      assert.is(await run(`${folder}/dist`, "node", "looking.js"), "200 1\n");
    });
  }

  test.full("is compiled by Bun into a program that needs only the native module beside it", async () => {
    const folder = `${app}/compiled`;
    await mkdir(folder);
    await run(app, pathOf("node_modules/.bin/bun"), "build", "--compile", "embed.ts", "--outfile", `${folder}/program`);
    assert.is(await run(folder, `${folder}/program`), expected(migrations.length));
  });

  /** Compiles files of the application without writing anything. Rejects with what TypeScript prints. */
  const compile = async (files: string[], ...options: string[]): Promise<void> => {
    const strict = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,esnext.disposable"];
    const types = ["--types", "node", "--typeRoots", pathOf("node_modules/@types")];
    await run(app, pathOf("node_modules/.bin/tsc"), ...strict, ...types, ...options, ...files).catch(({ stdout }) =>
      assert.unreachable(stdout)
    );
  };

  // TypeScript says the same on every version of Node.
  test.full("refuses mistakes where they are written in a strict TypeScript project", async () => {
    // The types of @libsql/client refer to ones that TypeScript does not find.
    await compile(["mistakes.ts"], "--module", "nodenext", "--skipLibCheck");
  });

  for (const resolution of [["nodenext"], ["node16"], ["esnext", "--moduleResolution", "bundler"]]) {
    test.full(`compiles with all of its types, without skipLibCheck, with ${resolution.at(-1)}`, async () => {
      const imports = entries.map(([name], index) => `export * as entry${index} from "${name}";\n`);
      await writeFile(`${app}/entries.ts`, imports.join(""));
      const shown = ["shown.ts", "shown-app.ts", "shown-fetching-app.ts", "shown-calls-0.ts", "shown-calls-1.ts"];
      await compile(["entries.ts", "embed.ts", ...shown], "--skipLibCheck", "false", "--module", ...resolution);
    });
  }

  test("its entries are all tested", async () => {
    const { exports } = JSON.parse(await readFile(pathOf("package.json"), "utf8"));
    const names = Object.keys(exports).map((path) => path.replace(".", "promptledger"));
    assert.equal(names.filter((name) => !name.endsWith(".json")).sort(), entries.map(([name]) => name).sort());
  });

  test.full("the client is a package of its own, in one file for each entry and what it loads later, that needs no other", async () => {
    const { packages } = JSON.parse(await readFile(`${page}/node_modules/.package-lock.json`, "utf8"));
    assert.equal(Object.keys(packages), ["node_modules/promptledger-client"]);
    const own = `${page}/node_modules/promptledger-client`;
    assert.equal((await readdir(own)).sort(), [
      "LICENSE",
      "README.md",
      "ai-sdk.js",
      "ai-sdk.js.map",
      "index.js",
      "index.js.map",
      "package.json",
      "providers.js",
      "providers.js.map",
      "refusals.js",
      "refusals.js.map",
      "snapshot.js",
      "snapshot.js.map",
      "token.js",
      "token.js.map",
      "types",
    ]);
    for (const file of ["ai-sdk.js", "index.js", "providers.js", "refusals.js", "snapshot.js", "token.js"]) {
      assert.not.match(await readFile(`${own}/${file}`, "utf8"), /^import |from "\.\//m);
    }
    const manifest = JSON.parse(await readFile(`${own}/package.json`, "utf8"));
    const { version } = JSON.parse(await readFile(`${app}/node_modules/promptledger/package.json`, "utf8"));
    assert.equal([manifest.version, manifest.dependencies], [version, undefined]);
  });

  // The types stand for themselves: nothing is skipped, and there are only those of a browser.
  test.full("the client is typed for a strict project without types of Node", async () => {
    const options = ["--strict", "--target", "es2022", "--lib", "es2022,dom", "--types", ""];
    await run(page, pathOf("node_modules/.bin/tsc"), "--noEmit", "--module", "nodenext", ...options, "use.ts");
    await run(page, pathOf("node_modules/.bin/tsc"), "--module", "nodenext", ...options, "use.ts");
  });

  for (const [version, use] of [[7, ai7Use], [6, aiUse], [5, aiUse]] as const) {
    test.full(`the client is typed for a strict project with AI SDK ${version}`, async () => {
      const path = version === 7
        ? `${await modulesOf("test/client/ai-sdk-7", { install: true })}/ai`
        : pathOf(`node_modules/ai-${version}`);
      await rm(`${page}/node_modules/ai`, { force: true });
      await symlink(path, `${page}/node_modules/ai`);
      await writeFile(`${page}/ai.ts`, use);
      const options = ["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--target", "es2022"];
      const lib = ["--lib", "es2022,dom,dom.iterable", "--types", "", "--module", "nodenext", "--noEmit"];
      await run(page, pathOf("node_modules/.bin/tsc"), ...options, ...lib, "ai.ts");
    });
  }

  const clientRuns: [name: string, ...command: string[]][] = [
    ["Node", "node", "use.js"],
    ["Bun", pathOf("node_modules/.bin/bun"), "use.ts"],
    ["Deno", pathOf("node_modules/.bin/deno"), "run", "--quiet", "--node-modules-dir=manual", "use.ts"],
  ];
  for (const [name, command, ...args] of clientRuns) {
    test.full(`the client runs on ${name}`, async () => {
      assert.is(await run(page, command!, ...args), "small 1 unauthorized 2\n");
    });
  }

  test.full("publint finds nothing in it, nor in the client", async () => {
    for (const pkgDir of [`${app}/node_modules/promptledger`, `${page}/node_modules/promptledger-client`]) {
      const { messages } = await publint({ pkgDir, pack: false, strict: true });
      assert.equal(messages, []);
    }
  });

  test.full("its types resolve as its code does, for all that can import ECMAScript modules", async () => {
    for (const tarball of tarballs) {
      const analysis = await checkPackage(createPackageFromTarballData(await readFile(tarball)));
      assert.ok(analysis.types !== false);
      // It has no CommonJS, which Node requires as an ECMAScript module, and no folders for resolution without `exports`.
      const others = ["node10", "node16-cjs"];
      const problems = analysis.problems.filter((problem) =>
        !("resolutionKind" in problem && others.includes(problem.resolutionKind))
      );
      assert.equal(problems, []);
    }
  });

  for (
    const [add, own] of [
      [test, `${app}/node_modules/promptledger`],
      [test.full, `${page}/node_modules/promptledger-client`],
    ] as const
  ) {
    add(`the links in the documents of ${own.split("/").at(-1)} lead to files that it has`, async () => {
      const files = (await readdir(own, { recursive: true })).filter((file) => file.endsWith(".md"));
      assert.ok(files.includes("README.md"));
      for (const file of files) {
        const paths = linksOf(await readFile(`${own}/${file}`, "utf8")).map((link) => link.split("#")[0]!);
        for (const path of paths.filter((path) => path !== "")) {
          await access(join(own, dirname(file), path)).catch(() => assert.unreachable(`${file} links to ${path}`));
        }
      }
    });
  }

  test("its source maps and those of its types lead to sources that are there", async () => {
    const own = `${app}/node_modules/promptledger`;
    const files = (await readdir(`${own}/dist`, { recursive: true })).map((file) => `${own}/dist/${file}`);
    const maps = files.filter((file) => file.endsWith(".map"));
    assert.is(maps.length, files.filter((file) => /\.(js|ts)$/.test(file)).length);
    for (const map of maps) {
      const { sources, sourceRoot = "" } = JSON.parse(await readFile(map, "utf8"));
      for (const source of sources) await access(join(dirname(map), sourceRoot, source));
    }
  });

  test.full("the source maps of the client have the sources", async () => {
    for (const file of ["ai-sdk", "index", "providers", "refusals", "snapshot", "token"]) {
      const path = `${page}/node_modules/promptledger-client/${file}.js.map`;
      const { sources, sourcesContent } = JSON.parse(await readFile(path, "utf8"));
      assert.is(sourcesContent.length, sources.length);
    }
  });

  /** A cache, where npx keeps what it installs. It goes with the folder, but for what npm has downloaded. */
  const makeNpxCache = async (): Promise<string> => {
    const cache = `${folder.path}/npx-cache`;
    await mkdir(cache);
    await symlink(`${(await run(app, "npm", "config", "get", "cache")).trim()}/_cacache`, `${cache}/_cacache`);
    return cache;
  };
  // The commands differ in what they run, not in what npx installs.
  let npxCache: Promise<string> | undefined;

  for (const command of ["serve", "demo"]) {
    test.full(`npx promptledger ${command} works in an empty folder`, async () => {
      const empty = `${folder.path}/${command}`;
      await mkdir(empty);
      const cache = await (npxCache ??= makeNpxCache());
      const packed = `--package=${tarballs[0]}`;
      const npx = ["exec", "--yes", "--prefer-offline", "--cache", cache, packed, "--", "promptledger"];
      const child = await startProgram(
        ["npm", ...npx, command],
        { ...npmSettings, PORT: "0", TMPDIR: empty },
        /url=(http:\/\/[\d.:]+)/,
        empty,
        installTimeoutMs,
      );
      assert.is((await fetch(`${child.seen}/readyz`)).status, 200);
      if (command === "demo") await until(() => child.output().includes("Ctrl-C stops"));
      assert.match(child.output(), /npx promptledger (workspace create|verify)/);
      process.kill(await lastDescendantOf(child.pid), "SIGTERM");
      assert.is(await child.ended, 0);
    });
  }

  test("brings its command line", async () => {
    assert.match(await run(app, "npx", "promptledger", "--version"), /^\d+\.\d+\.\d+ \(0123456789ab\)\n$/);
    await run(app, "npx", "promptledger", "migrate");
    assert.is(await run(app, "npx", "promptledger", "workspace", "list", "--json"), "[]\n");
  });

  test("brings its file for systemd, and the document about running it", async () => {
    for (const name of ["promptledger.service", "README.md"]) {
      await access(`${app}/node_modules/promptledger/src/deploy/${name}`);
    }
  });
}

test.run();
