// MCP on standard streams: lines of messages, and the command that serves them.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, runFile, startCommand, startService, until } from "../conformance/processes.ts";
import { serveLines } from "../../src/mcp/stdio.ts";
import type { Answerer } from "../../src/mcp/stdio.ts";
import { linesOf, tooLong } from "../../src/runtime/lines.ts";
import { runIn } from "../cli/places.ts";
import { adminToken, promptFile } from "../helpers.ts";
import { commandOf, currentRuntime } from "../runtimes.ts";
import { bodyOf } from "./agent.ts";

const test = suite(`MCP: standard streams on ${currentRuntime}`);

const read = async (chunks: (string | Uint8Array)[], maxBytes = 10) => {
  const lines: unknown[] = [];
  async function* all() {
    yield* chunks;
  }
  for await (const line of linesOf(all(), maxBytes)) lines.push(line);
  return lines;
};

test("lines are cut from chunks, and none is longer than it may be", async () => {
  assert.equal(await read([]), []);
  assert.equal(await read(["a\nb", "c\r\n", "\n", "d"]), ["a", "bc", "", "d"]);
  assert.equal(await read(["0123456789\n", "01234567890\n", "0123456", "789012\nx\n"]), [
    "0123456789",
    tooLong,
    tooLong,
    "x",
  ]);
  const bytes = new TextEncoder().encode("é😀\n");
  assert.equal(await read(Array.from(bytes, (byte) => Uint8Array.of(byte))), ["é😀"]);
  assert.equal(await read([Uint8Array.of(0xff, 10)]), ["\ufffd"]);
});

/** Serves lines with an answerer, and gives what was written. */
async function serve(lines: AsyncIterable<string | undefined> | Iterable<string | undefined>, answer: Answerer) {
  const written: string[] = [];
  async function* all() {
    yield* lines;
  }
  // deno-lint-ignore require-await -- a writer returns a promise
  await serveLines(all(), async (line) => written.push(line) > 0, answer);
  return written;
}

// deno-lint-ignore require-await -- an answerer returns a promise
const echo: Answerer = async ({ id }) => `answer to ${id.text}`;

test("each request gets a line, and a notification none", async () => {
  const lines = [
    bodyOf("a", {}, undefined, 1),
    "",
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    bodyOf("b", {}, undefined, "x"),
  ];
  assert.equal(await serve(lines, echo), ["answer to 1\n", 'answer to "x"\n']);
});

test("a line that is no message, or too long, gets an error, and the next is served", async () => {
  const [faulty, long, good] = await serve(["{", undefined, bodyOf("a", {})], echo);
  assert.is(JSON.parse(faulty!).error.code, -32700);
  assert.is(JSON.parse(long!).error.code, -32600);
  assert.is(good, "answer to 1\n");
});

test("it ends once nobody reads its responses", async () => {
  let count = 0;
  async function* endless() {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve));
      yield bodyOf("a", {}, undefined, ++count);
    }
  }
  // deno-lint-ignore require-await -- a writer returns a promise
  await serveLines(endless(), async () => count < 3, echo);
  assert.ok(count >= 3);
});

test("requests run at once, up to a bound, and a cancelled one is not answered", async () => {
  const waiting: (() => void)[] = [];
  let most = 0;
  const answer: Answerer = async ({ id }) => {
    const answered = new Promise<void>((resolve) => waiting.push(resolve));
    most = Math.max(most, waiting.length);
    await answered;
    return id.text;
  };
  async function* lines() {
    for (let id = 1; id <= 64; id++) yield bodyOf("slow", {}, undefined, id);
    yield '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}';
    yield '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}';
  }
  const served = serve(lines(), answer);
  await until(() => waiting.length === 64);
  waiting[0]!();
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const release of waiting) release();
  const written = await served;
  assert.equal([most, written.length, written.includes("3\n")], [64, 63, false]);
});

const folder = await createFolder();
const DATABASE_URL = `file:${folder.path}/ledger.db`;
test.after(() => folder.remove());
const cli = (args: string[], input?: string, env: Record<string, string> = {}) =>
  runFile(currentRuntime, "src/cli.ts", args, { DATABASE_URL, ...env }, input);

test("the command writes messages alone to stdout, and ends with its input", async () => {
  assert.is((await runIn(["workspace", "create", "--name", "Acme"], { DATABASE_URL })).code, 0);
  const push = ["prompt", "push", "-", "--name", "greeting", "--deploy", "production"];
  assert.is((await runIn(push, { DATABASE_URL }, JSON.stringify(promptFile))).code, 0);
  const call = (id: number, name: string, input: object) =>
    bodyOf("tools/call", { name, arguments: input }, undefined, id);
  const lines = [
    call(1, "list_deployments", {}),
    "nonsense",
    call(2, "publish_version", { prompt: "greeting", baseVersion: 1, edits: [{ old: "Greet", new: "Hi" }] }),
  ];
  const { code, out, said } = await cli(["mcp"], `${lines.join("\n")}\n`, { USER: "ada" });
  assert.equal([code, said], [0, ""]);
  const answers = out.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.equal(answers.map(({ id, error }) => error?.code ?? id).sort(), [-32700, 1, 2]);
  const { json } = await runIn(["audit", "list", "--json"], { DATABASE_URL });
  const [last] = json as { source: string; actor: string }[];
  assert.equal([last!.source, last!.actor], ["mcp", "ada"]);
});

test("a role and a workspace bound what the command may do", async () => {
  const list = `${bodyOf("tools/list", {})}\n`;
  const countOf = async (...args: string[]) => JSON.parse((await cli(["mcp", ...args], list)).out).result.tools.length;
  assert.equal([await countOf("--role", "viewer"), await countOf(), await countOf("--role", "admin")], [8, 11, 12]);
  const { code, said } = await runIn(["mcp", "--workspace", "None"], { DATABASE_URL });
  assert.is(code, 1);
  assert.match(said, "None");
  assert.match((await runIn(["mcp", "--role", "owner"], { DATABASE_URL })).said, "--role must be viewer");
  assert.match((await runIn(["mcp"], { DATABASE_URL: `file:${folder.path}/none.db` })).said, "does not exist");
});

test("on a service without MCP, or with a wrong token, each request gets an error that says so", async () => {
  const service = await startService(currentRuntime, { DATABASE_URL, ADMIN_TOKEN: adminToken });
  try {
    const relay = async (token: string, url = service.url) => {
      const { out, code } = await cli(["mcp", "--server", url], `${bodyOf("tools/list", {}, undefined, 7)}\n`, {
        PROMPTLEDGER_TOKEN: token,
      });
      const { id, error } = JSON.parse(out);
      assert.equal([code, id], [0, 7]);
      return error.message as string;
    };
    assert.match(await relay(adminToken), "has no MCP. Start the service with MCP=true");
    assert.match(await relay(adminToken, "http://127.0.0.1:1"), "does not respond");
    for (
      const [bound, words] of [
        [["--role", "viewer"], "--server and --role exclude each other: the token has a role"],
        [
          ["--workspace", "Acme"],
          "--server excludes --workspace and PROMPTLEDGER_WORKSPACE: bind the token to the workspace",
        ],
      ] as const
    ) {
      const { code, said } = await runIn(["mcp", "--server", service.url, ...bound], {
        PROMPTLEDGER_TOKEN: adminToken,
      });
      assert.equal([code, said], [1, `promptledger: ${words}\n`]);
    }
  } finally {
    await service.stop();
  }
  const open = await startService(currentRuntime, { DATABASE_URL, ADMIN_TOKEN: adminToken, MCP: "true" });
  try {
    assert.match(open.output(), `mcp=${open.url}/mcp`);
    const wrong = "another-admin-token-of-32-characters";
    const { out } = await cli(["mcp", "--server", open.url], `${bodyOf("tools/list", {})}\n`, {
      PROMPTLEDGER_TOKEN: wrong,
    });
    assert.match(JSON.parse(out).error.message, /token/i);
  } finally {
    await open.stop();
  }
});

test("the command ends when its agent closes the stream", async () => {
  const child = startCommand([...commandOf[currentRuntime]("src/cli.ts"), "mcp"], { DATABASE_URL });
  assert.is(await child.ended, 0);
});

test.run();
