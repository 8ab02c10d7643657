// A token of one workspace learns nothing of how much others use the service. Two tenants work at random. All that one of them
// can see is compared with what it sees where the other one does nothing: it is the same but for ids, hashes and cursors.
// Runs on Node alone.
import process from "node:process";
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { sha256 } from "../../src/common/ids.ts";
import type { AuditEntry } from "../../src/management/events/audit.ts";
import { operations } from "../../src/management/index.ts";
import { perform } from "../../src/management/kernel/operation.ts";
import type { AnyOperation } from "../../src/management/kernel/operation.ts";
import { nounOf } from "../../src/schema/struct.ts";
import { visit } from "../console/visitor.ts";
import { createTenant, createWorld, goodBody, promptFile } from "../helpers.ts";
import type { Answer, Tenant, World } from "../helpers.ts";
import { moveCommits } from "./filled-log.ts";
import { refused, taken } from "./management.ts";

const test = suite("leaks");

/** What a tenant does, or nobody: then time passes. A burst is of concurrent requests. */
const works = {
  submit: (world: World, { deployId, key }: Tenant, nth: number) =>
    world.submit({ ...goodBody, sessionId: `s${nth % 3}`, latency: nth }, deployId, key),
  read: (world: World, { deployId, key }: Tenant) => world.read(deployId, key),
  burst: (world: World, { deployId, key }: Tenant, nth: number) =>
    Promise.all(Array.from({ length: nth % 7 }, () => world.submit({ ...goodBody, status: nth % 2 }, deployId, key))),
  push: (world: World, { promptId }: Tenant, nth: number) =>
    world.manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: `Title ${nth}` }),
  rename: (world: World, { deployId }: Tenant, nth: number) =>
    world.manage("POST", `/deployments/${deployId}/rename`, { name: `x${nth}` }),
  limit: (world: World, { workspaceId }: Tenant, nth: number) =>
    world.manage("PATCH", `/workspaces/${workspaceId}`, { monthlyLimit: 1000 + nth }),
  key: (world: World, { workspaceId }: Tenant, nth: number) =>
    world.manage("POST", `/workspaces/${workspaceId}/keys`, { name: `k${nth}` }),
  forget: (world: World, { deployId }: Tenant, nth: number) =>
    world.manage("DELETE", `/deployments/${deployId}/diagnoses?sessionId=s${nth % 3}`),
  prune: (world: World, { workspaceId }: Tenant) =>
    world.manage("POST", "/prune", { olderThanMs: 86_400_000, workspaceId }),
};

type Step = { what: keyof typeof works; nth: number; others: [what: keyof typeof works, nth: number][]; wait: number };

const work = fc.constantFrom(...Object.keys(works) as (keyof typeof works)[]);
const step: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof({ weight: 2, arbitrary: fc.constantFrom("submit", "burst", "limit") }, { weight: 1, arbitrary: work }),
  nth: fc.nat(20),
  others: fc.array(fc.tuple(work, fc.nat(20)), { maxLength: 4 }),
  wait: fc.constantFrom(1, 1, 1, 1000, 40_000_000),
});

const ids = /\b(?:ws|key|prompt|dep|diag|call|token|price|review|wh|budget|req)_[0-9a-z-]{20,36}\b/g;

/** A text in which ids, hashes, prefixes of secrets and opaque cursors stand as numbers in the order of their first use. */
function createNormalizer(): (text: string) => string {
  const names = new Map<string, string>();
  const nameOf = (found: string, kind: string) => {
    if (!names.has(found)) names.set(found, `${kind} ${names.size}`);
    return names.get(found)!;
  };
  return (text) =>
    text.replace(ids, (id) => nameOf(id, id.slice(0, id.indexOf("_"))))
      .replace(/\b(?:[0-9a-f]{32}){1,2}\b/g, (hash) => nameOf(hash, "hash"))
      .replace(/\bplm?_\w{6,49}\b/g, "secret")
      .replace(/\b[0-9A-Za-z]{60}\b/g, "cursor");
}

/** Values that reads require or may take, besides ids. A list is read in pages of two. */
const others: Record<string, Record<string, unknown>[]> = {
  diffVersions: [{ from: 1 }],
  getPromptVersion: [{ version: 1 }],
  showSession: [{ sessionId: "s1" }],
  readUsage: [{ month: "2026-11" }],
  readCosts: [{ month: "2026-11" }],
  listDiagnoses: [{}, { text: "HELLO" }, { order: "oldest" }, { status: "1", from: 1 }],
  listRecordFigures: [{ ids: "diag_x" }],
  listWorkspaceDiagnoses: [{}, { deployId: undefined, text: "HELLO" }, { deployId: undefined, order: "oldest" }],
  readWorkspaceStats: [{}, { deployId: undefined, interval: "day", splitAt: 1 }],
  listSessions: [{}, { deployId: undefined }, { deployId: undefined, status: "1", sessionContains: "S" }],
  listAuditEntries: [{}, { action: "workspace" }],
  listCalls: [{}, { operation: "read" }],
};

type Look = (operation: AnyOperation, input: Record<string, unknown>) => Promise<Answer>;

/** All that a token of a workspace can see: each page of each read, and each page of the console. */
async function see(world: World, token: string, named: Record<string, string>): Promise<string[]> {
  const normalize = createNormalizer();
  const seen: string[] = [];
  const add = (what: string, { status, headers, text }: Answer) => {
    const shown = [...headers].filter(([name]) => name !== "x-request-id");
    seen.push(normalize(`${what} ${status} ${JSON.stringify(shown)}\n${text}`));
  };
  const look: Look = ({ path, method, input }, values) => {
    const rest = new Map(Object.entries(values).filter(([, value]) => value !== undefined));
    const target = path.replace(/{(\w+)}/g, (_, name: string) => {
      const value = String(rest.get(name));
      rest.delete(name);
      return value;
    });
    const query = new URLSearchParams([...rest].filter(([name]) => name in input.schema).map(([k, v]) => [k, `${v}`]));
    return world.manage(method, `${target}?${query}`, undefined, { Authorization: `Bearer ${token}` });
  };
  for (const operation of operations.filter(({ method }) => method === "GET")) {
    const { id, input: { schema } } = operation;
    const nounsIn = Object.entries(schema).flatMap(([name, struct]) => {
      const id = named[nounOf(struct) ?? ""];
      return id === undefined || ["keyId", "after"].includes(name) ? [] : [[name, id] as const];
    });
    for (const values of others[id] ?? [{}]) {
      const input: Record<string, unknown> = { ...Object.fromEntries(nounsIn), ...values };
      if ("limit" in schema) input.limit = 2;
      for (let page = 0;; page++) {
        assert.ok(page < 200, `${id} ends`);
        const answer = await look(operation, input);
        add(`${id} ${JSON.stringify(values)}`, answer);
        const { nextCursor } = (answer.json ?? {}) as { nextCursor?: string | null };
        if (typeof nextCursor !== "string") break;
        input.cursor = nextCursor;
      }
    }
  }
  const { open } = await visit(world, token);
  const own = [
    "",
    "/prompts",
    "/deployments",
    "/records",
    "/sessions",
    "/usage",
    "/keys",
    "/tokens",
    "/settings",
    "/audit",
  ];
  for (const path of ["workspaces", ...own.map((path) => world.workspaceId + path)]) add(path, await open(path));
  return seen;
}

/** The texts of the progress of each long read, without its clock. */
async function reportsOf({ admin, workspaceId }: World, named: Record<string, string>): Promise<string[]> {
  const reports: string[] = [];
  for (const operation of operations.filter(({ method, isLong }) => method === "GET" && isLong)) {
    const { id, input: { schema } } = operation;
    for (const values of others[id] ?? [{}]) {
      const input = Object.fromEntries(
        Object.entries(schema).flatMap(([name, struct]) => {
          const id = named[nounOf(struct) ?? ""];
          return id === undefined || name === "keyId" ? [] : [[name, id]];
        }),
      );
      const report = (words: string, share?: number) => void reports.push(`${id}: ${words} ${share}`);
      const caller = { ...admin.caller, role: "admin" as const, workspaceId };
      await perform(operation as never, { ...admin, caller, report }, { value: { ...input, ...values } })
        .catch((error: Error) => reports.push(`${id}: ${error.message}`));
    }
  }
  return reports;
}

/** Plays the steps, with or without what the other tenant does, and returns what the first one sees in the end. */
async function play(steps: Step[], withOther: boolean, gap: number): Promise<string[]> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  world.now += 1;
  const other = await createTenant(world.admin, 1e6, "Other");
  const { workspaceId, deployId, promptId, keyId } = world;
  const body = { name: "Ann", role: "admin", workspaceId };
  const { id: tokenId, token } = taken<{ id: string; token: string }>(await world.manage("POST", "/tokens", body), 201);
  const normalize = createNormalizer();
  const seen: string[] = [];
  for (const { what, nth, others, wait } of steps) {
    const both = withOther ? others.map(([what, nth]) => works[what](world, other, nth)) : [];
    const [own] = await Promise.all([works[what](world, world, nth), ...both]);
    // Concurrent requests are in no order.
    const usedIn = ({ headers }: Answer) => Number(headers.get("X-RateLimit-Used"));
    for (const { status, headers, text } of [own].flat().sort((a, b) => usedIn(a) - usedIn(b))) {
      seen.push(normalize(`${what} ${status} ${JSON.stringify([...headers])} ${text}`));
    }
    world.now += wait;
  }
  const { json } = await world.submit();
  // Traffic of millions of requests, as if the other tenant's calls had been pruned.
  if (withOther && gap > 0) await moveCommits(world, (position, index) => position + gap * (index + 1));
  const named = {
    ...{ Workspace: workspaceId, Deployment: deployId, Prompt: promptId, "API key": keyId, Token: tokenId },
    Diagnosis: (json as { id: string }).id,
  };
  seen.push(...await see(world, token, named), ...await reportsOf(world, named));
  await world.close();
  return seen;
}

async function assertAlike(steps: Step[], gap = 0): Promise<void> {
  const [alone, beside] = [await play(steps, false, 0), await play(steps, true, gap)];
  for (const [nth, seen] of alone.entries()) assert.is(beside[nth], seen);
  assert.is(beside.length, alone.length);
}

test("all that a tenant sees is the same, but for ids and times, whatever another one does", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => assertAlike(steps)),
    { numRuns: Number(process.env.NUM_RUNS ?? (isFull ? 8 : 2)) },
  );
});

test.full("neither do pages end earlier, nor does progress come in finer steps, if others fill millions of positions", async () => {
  const steps: Step[] = Array.from({ length: 3 }, (_, nth) => ({ what: "submit", nth, others: [], wait: 1 }));
  await assertAlike(steps, 1_500_000);
});

/** A world with a token that is bound to its workspace, and the first page of its audit log or of another list. */
async function createBound() {
  const world = await createWorld();
  const bind = async ({ workspaceId }: Tenant) =>
    taken<{ token: string }>(
      await world.manage("POST", "/tokens", { name: "Ann", role: "viewer", workspaceId }),
      201,
    ).token;
  const other = await createTenant(world.admin, 1000, "Other");
  for (const { deployId, key } of [world, other, world, other, world]) await world.submit(goodBody, deployId, key);
  const tokens = { own: await bind(world), other: await bind(other) };
  const get = (path: string, token = tokens.own) =>
    world.manage("GET", path, undefined, { Authorization: `Bearer ${token}` });
  return { world, other, tokens, get };
}

const pagedBy = ({ workspaceId, deployId }: Tenant) => [
  "/audit?",
  `/workspaces/${workspaceId}/calls?`,
  `/workspaces/${workspaceId}/diagnoses?`,
  `/workspaces/${workspaceId}/sessions?`,
  `/workspaces/${workspaceId}/session-records?sessionId=session-1&`,
  `/deployments/${deployId}/diagnoses?`,
];

test("a cursor tells nothing: it is never the same twice, and takes nobody but its list and its workspace further", async () => {
  const { world, other, tokens, get } = await createBound();
  await world.submit({ ...goodBody, sessionId: "session-2" });
  const message = "Field cursor must be the nextCursor of an earlier response";
  const cursors: string[] = [];
  for (const path of pagedBy(world)) {
    const cursorOf = async () => taken<{ nextCursor: string }>(await get(`${path}limit=1`)).nextCursor;
    const [one, two] = [await cursorOf(), await cursorOf()];
    assert.is.not(one, two);
    assert.match(one, /^[0-9A-Za-z]{60}$/);
    const pages = await Promise.all(
      [one, two].map(async (cursor) => taken(await get(`${path}cursor=${cursor}`)).items),
    );
    assert.equal(pages[0], pages[1]);
    const changed = one.slice(0, 30) + (one[30] === "a" ? "b" : "a") + one.slice(31);
    for (const wrong of [...cursors, changed, "1", "5", "1_9", "z".repeat(60)]) {
      refused(await get(`${path}cursor=${wrong}`), 400, message);
    }
    cursors.push(one);
  }
  for (const [nth, path] of pagedBy(other).entries()) {
    refused(await get(`${path}cursor=${cursors[nth]}`, tokens.other), 400, message);
  }
});

test("a cursor of one service takes a caller further on another one of the database, which may have started later", async () => {
  const { world, tokens, get } = await createBound();
  await world.submit({ ...goodBody, sessionId: "session-2" });
  const later = await createWorld({ database: world.database });
  for (const path of pagedBy(world)) {
    const { nextCursor } = taken<{ nextCursor: string }>(await get(`${path}limit=1`));
    const next = `${path}limit=1&cursor=${nextCursor}`;
    const there = await later.manage("GET", next, undefined, { Authorization: `Bearer ${tokens.own}` });
    assert.equal(taken(there).items, taken(await get(next)).items);
  }
});

test("a bound token sees the entries of its workspace numbered from 1, and those of an owner their positions", async () => {
  const { world, other, get } = await createBound();
  for (let nth = 0; nth < 9; nth++) {
    const { workspaceId } = nth % 3 === 0 ? world : other;
    taken(await world.manage("PATCH", `/workspaces/${workspaceId}`, { monthlyLimit: nth + 1 }));
  }
  const numbersOf = async (query: string) =>
    taken<{ items: AuditEntry[] }>(await get(`/audit?${query}`)).items.map(({ position }) => position);
  assert.equal(await numbersOf(""), [8, 7, 6, 5, 4, 3, 2, 1]);
  assert.equal(await numbersOf("action=workspace"), [8, 7, 6, 1]);
  assert.equal(await numbersOf("action=workspace&limit=1"), [8]);
  const exported = await get("/audit/export?action=workspace.created");
  assert.is((JSON.parse(exported.text) as AuditEntry).position, 1);
  const all = taken<{ items: AuditEntry[] }>(await world.manage("GET", "/audit?limit=1")).items;
  assert.is(all[0]!.position, 19);
});

test("the hash of an entry tells a bound token no position, and is the same each time", async () => {
  const { world, get } = await createBound();
  for (const monthlyLimit of [1, 2]) {
    taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { monthlyLimit }));
  }
  const list = async () => taken<{ items: AuditEntry[] }>(await get("/audit")).items;
  const [last, before] = await list() as [AuditEntry, AuditEntry];
  assert.equal((await list()).map(({ hash }) => hash), (await list()).map(({ hash }) => hash));
  assert.match(last.hash, /^[0-9a-f]{64}$/);
  const { createdAt, source, actor, tokenId, action, targetId, workspaceId, note, requestId } = last;
  const texts = [last.before, last.after].map((value) => JSON.stringify(value));
  for (let position = 1; position < 50; position++) {
    const head = [before.hash, position, createdAt, source, actor, tokenId, action, targetId, workspaceId];
    assert.is.not(await sha256(JSON.stringify([...head, ...texts, note, requestId])), last.hash);
  }
});

test.run();
