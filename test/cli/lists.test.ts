// How commands call operations that return parts, with operations that return what the test says.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readArguments } from "../../src/cli/frame/arguments.ts";
import type { Call, Command, CommandContext, Outcome } from "../../src/cli/frame/command.ts";
import { findByName } from "../../src/cli/commands.ts";
import { listAll, listNewest } from "../../src/cli/frame/lists.ts";
import { readUsage, usageOf } from "../../src/cli/frame/parameters.ts";
import { listCalls } from "../../src/management/records/calls.ts";
import { listWorkspaces } from "../../src/management/kernel/workspaces.ts";
import { terminal } from "../../src/runtime/terminal.ts";

const test = suite("lists");

/** Returns one answer after the other, and collects the inputs. */
function answering(...answers: unknown[]) {
  const inputs: Record<string, unknown>[] = [];
  const call = ((_operation: unknown, input: Record<string, unknown>) => {
    inputs.push(input);
    return Promise.resolve(answers.shift());
  }) as Call;
  return { call, inputs };
}

const contextOf = (call: Call, usage: string, argv: string[], reports: string[] = []): CommandContext => ({
  call,
  args: readArguments(readUsage(usage).parameters, argv),
  terminal: { ...terminal, report: (progress) => void reports.push(progress) },
});

const numbers = (...items: number[]) => items.map((number) => ({ number }));

test("follows the cursors of a list to its end, past empty parts", async () => {
  const { call, inputs } = answering(
    { items: numbers(3, 2), nextCursor: "2" },
    { items: [], nextCursor: "1" },
    { items: numbers(1), nextCursor: null },
  );
  assert.equal((await listAll(call, listWorkspaces, {})).data, numbers(3, 2, 1));
  assert.equal(inputs.map(({ cursor, limit }) => [cursor, limit]), [[undefined, 1000], ["2", 1000], ["1", 1000]]);
});

const endless = [["1", "1"], ["1", "2", "1"], ["1", "2", "3", "2"]];

for (const cursors of endless) {
  test(`stops reading a list whose cursors are ${cursors.join(", ")} and so on`, async () => {
    const pages = cursors.map((nextCursor) => ({ items: numbers(1), nextCursor }));
    const error = new RegExp(`cursor ${cursors.at(-1)} came twice`);
    for (const list of [(call: Call) => listAll(call, listWorkspaces, {}), (call: Call) => newest(call)]) {
      const { call, inputs } = answering(...pages);
      await list(call).then(() => assert.unreachable(), ({ message }: Error) => assert.match(message, error));
      assert.is(inputs.length, cursors.length);
    }
  });
}

const newest = (call: Call, ...argv: string[]) =>
  listNewest(contextOf(call, "call list [--limit N] [--all] [--cursor CURSOR] [--page]", argv), listCalls, {
    workspaceId: "ws_1",
  });

test("reads until it has as many of the newest as --limit says, and says how to see more", async () => {
  const { call, inputs } = answering(
    { items: numbers(9), nextCursor: "9" },
    { items: [], nextCursor: "5" },
    { items: numbers(4, 3), nextCursor: "3" },
  );
  const { data, note } = await newest(call, "--limit", "3");
  assert.equal([data, note], [numbers(9, 4, 3), "More: --cursor 3"]);
  assert.equal(inputs.map(({ cursor, limit }) => [cursor, limit]), [[undefined, 3], ["9", 2], ["5", 2]]);
});

test("events reads pages until it has as many as --limit says, or the last one", async () => {
  const events = findByName(["events"])[0]! as Command & { run(context: CommandContext): Promise<Outcome> };
  const list = async (call: Call, limit: string) =>
    await events.run({ call, args: readArguments(events.parameters, ["--limit", limit]), terminal });
  const page = (length: number) => Array.from({ length }, () => ({ subject: {}, from: null, to: null }));
  const many = answering({ items: page(1000), next: 1007 }, { items: page(500), next: 1600 });
  const { data, note } = await list(many.call, "1500");
  assert.equal([(data as unknown[]).length, note], [1500, "To go on from here: --after 1600"]);
  assert.equal(many.inputs.map(({ after, limit }) => [after, limit]), [[undefined, 1000], ["1007", 500]]);
  const few = answering({ items: page(3), next: 9 });
  assert.equal([(await list(few.call, "4")).note, few.inputs.length], ["To go on from here: --after 9", 1]);
  const endless = answering(...Array.from({ length: 3 }, () => ({ items: page(1000), next: 7 })));
  await list(endless.call, "5000").then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.match(message, "twice"),
  );
  const other = answering({ status: "ok" });
  await list(other.call, "1").then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.match(message, "Unexpected"),
  );
});

test("ends with the log, begins at --cursor, and requests no more than a page can have", async () => {
  const { call, inputs } = answering({ items: numbers(1), nextCursor: null });
  const { data, note } = await newest(call, "--limit", "5000", "--cursor", "7");
  assert.equal([data, note], [numbers(1), undefined]);
  assert.equal(inputs.map(({ cursor, limit }) => [cursor, limit]), [["7", 1000]]);
});

test("refuses an answer that is not a list", async () => {
  const { call } = answering({ hello: "world" });
  await listAll(call, listWorkspaces, {}).then(() => assert.unreachable(), (error: Error) => {
    assert.is(error.message, "Unexpected response. Is this a promptledger server?");
  });
});

test("prune is repeated until it is done, and sums up what was pruned", async () => {
  const [prune] = findByName(["prune"]);
  const { call, inputs } = answering(
    { calls: 5, records: 2, isDone: false },
    { calls: 0, records: 0, isDone: false },
    { calls: 3, records: 1, isDone: true },
  );
  const reports: string[] = [];
  assert.ok(prune !== undefined && "run" in prune);
  const { data } = await prune.run(contextOf(call, usageOf(prune), ["--older-than", "2d"], reports));
  assert.equal(data, { calls: 8, records: 3 });
  assert.equal(inputs, Array(3).fill({ olderThanMs: 2 * 86_400_000, workspaceId: undefined }));
  assert.is(reports.at(-1), "Pruned 8 calls and 3 records");
});

test.run();
