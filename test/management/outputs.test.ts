// Every answer of management is as it is declared, with the bounds of its numbers, after random histories of every noun with extreme
// values. `helpers.ts` holds each answer of the other tests to the same.
// Runs on Node alone.
import fc from "fast-check";
import * as assert from "uvu/assert";
import { runChecks } from "../../src/management/upkeep/checks.ts";
import { operations } from "../../src/management/index.ts";
import type { AnyOperation } from "../../src/management/kernel/operation.ts";
import { isOptional } from "../../src/schema/struct.ts";
import { extremes, usually } from "../extremes.ts";
import { createWorld, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readContract } from "../http/openapi-contract.ts";
import type { OpenApi } from "../http/openapi-contract.ts";
import { isFull, seed, suite } from "../suite.ts";
import { deliverer } from "./deliverer.ts";

const test = suite("outputs");

const minute = 60_000, hour = 60 * minute, day = 24 * hour; // ms
const most = Number.MAX_SAFE_INTEGER;

const often = 120; // times

type Sent = { method: string; path: string; body?: object };

const record = fc.record({
  sessionId: fc.constantFrom("a", "b", ""),
  status: usually(fc.constantFrom(0, 1), extremes.status),
  content: fc.constantFrom({ input: "Hello" }, { output: "" }, { input: "{{x}}", output: "Hi" }),
  latency: usually(fc.constantFrom(0.5, 840), extremes.latency),
  startAt: usually(fc.constantFrom(1, 2), extremes.moment),
  endAt: usually(fc.constantFrom(3), extremes.moment),
  model: fc.constantFrom("gpt-4o", "m"),
  cost: usually(fc.constantFrom(0.01, 0.25), extremes.cost),
  additional_properties: fc.record({
    prompt_tokens: usually(fc.nat(100), extremes.count),
    completion_tokens: usually(fc.nat(100), extremes.count),
  }),
}, { requiredKeys: ["sessionId", "status", "content"] });

const amount = fc.constantFrom("0.01", "1", "0.5", "999999999.99");
const scope = fc.constantFrom({}, { promptId: "greeting" }, { keyId: "{key}" });
const at = fc.constantFrom("1", "50,80,100", "1,2,3,4,5,6,7,8,9,1000");
const price = fc.constantFrom("0", "0.000000001", "3", "999999.999999999");
const condition = fc.constantFrom(
  ...["failures>0%", "latency>0ms", "p99>999999999999m", "cost>0", "cost<999999999999/record", "tokens>0/record"],
  ...["records>0", "reads<1", "thumb<100%", "score>-999999999999", "score<0.5"],
);
const value = usually<number | boolean | string>(
  fc.constantFrom(true, false, 0.5),
  [1e15, -1e15, 1e-15, "😀".repeat(200), "kind"],
);
const words = fc.constantFrom("", "Because", "😀".repeat(128));
const moment = fc.constantFrom(day, 366 * 10 * day);

const make = <T>(path: string, body: fc.Arbitrary<T> | T, method = "POST"): fc.Arbitrary<Sent> =>
  (body instanceof fc.Arbitrary ? body : fc.constant(body)).map((body) => ({ method, path, body: body as object }));

/** What happens. Placeholders are ids, which a number chooses. */
const step = fc.oneof(
  { weight: 10, arbitrary: make("submit", record) },
  // A sum may exceed what any record has.
  { weight: 1, arbitrary: make("submit often", record.map((one) => ({ ...one, cost: "1e12" }))) },
  { weight: 3, arbitrary: make("read", {}) },
  { weight: 3, arbitrary: make("wait", fc.constantFrom(1, minute, hour, 25 * hour, 31 * day).map((ms) => ({ ms }))) },
  {
    weight: 6,
    arbitrary: make(
      "/diagnoses/{diag}/feedback",
      fc.record({ name: fc.constantFrom("thumb", "score", "tone"), value, author: words, comment: words }),
    ),
  },
  make(
    "/workspaces/{ws}",
    fc.record({
      monthlyLimit: fc.constantFrom(0, 20, 1_000, most),
      keepRecordsMs: fc.option(moment),
      keepCallsMs: fc.option(moment),
      upgradeUrl: fc.constantFrom(null, "https://a.example"),
    }),
    "PATCH",
  ),
  make("/workspaces/{ws}/keys", fc.record({ name: words, expiresAt: fc.constantFrom(null, most) })),
  make("/keys/{key}/rotate", fc.record({ overlapMs: fc.constantFrom(0, day) })),
  make("/tokens", { name: "t", role: "viewer", expiresAt: most }),
  make("/workspaces/{ws}/prompts", fc.constantFrom(promptFile, { title: "", messages: [], llmConfig: { n: 1e300 } })),
  make("/prompts/{prompt}/versions", fc.nat(5).map((n) => ({ ...promptFile, title: String(n) }))),
  make(
    "/workspaces/{ws}/deployments",
    fc.record({ name: fc.constantFrom("a", "b"), promptId: fc.constant("{prompt}") }),
  ),
  make("/deployments/{dep}/promote", fc.record({ version: fc.integer({ min: 1, max: 3 }) })),
  make("/deployments/{dep}/protect", fc.record({ approvals: fc.constantFrom(0, 1) })),
  make("/deployments/{dep}/activate", {}),
  make(
    "/deployments/{dep}/rollout",
    fc.record({
      version: fc.integer({ min: 1, max: 3 }),
      percent: fc.constantFrom(0.1, 50, 100),
      guard: fc.constantFrom(null, "failures=+0%", "p95=+999999999%,cost=-0.000001%"),
    }),
  ),
  make("/changes/{change}/approve", {}),
  make(
    "/workspaces/{ws}/budgets",
    fc.tuple(amount, fc.constantFrom("day", "month"), at, scope).map(
      ([amount, per, at, of]) => ({ amount, per, at, ...of }),
    ),
  ),
  make("/budgets/{budget}", fc.record({ amount, at }), "PATCH"),
  make(
    "/prices",
    fc.record({ model: fc.constantFrom("gpt-*", "m"), input: price, output: price, validFrom: fc.nat(9) }),
  ),
  make(
    "/workspaces/{ws}/alerts",
    fc.record({ condition, overMs: fc.constantFrom(5 * minute, day), keepFiringMs: fc.constantFrom(0, 3660 * day) }),
  ),
  make("/alerts/{alert}/mute", fc.constantFrom(0, 3660 * day).map((forMs) => ({ forMs }))),
  make("/workspaces/{ws}/reviews", fc.record({ title: fc.constant("Look"), records: fc.constantFrom(1, 200) })),
  make("/reviews/{review}/next", {}),
  make(
    "/webhooks",
    fc.record({ url: fc.constant("https://hooks.example.com/x"), events: fc.constantFrom(null, "key.*") }),
  ),
  make("/webhooks/{wh}/test", {}),
);

const history = fc.array(fc.tuple(step, fc.nat()), { minLength: 60, maxLength: 90 });

/** All ids that answers have named, by how they begin. */
class Ids {
  readonly #ids = new Map<string, string[]>();

  collect(text: string): void {
    for (const [id, noun] of text.matchAll(/\b([a-z]+)_[0-9a-z]{26,32}\b/g)) {
      const ids = this.#ids.get(noun!) ?? [];
      if (!ids.includes(id)) this.#ids.set(noun!, [...ids, id]);
    }
  }

  of(noun: string, nth = 0): string {
    const ids = this.#ids.get(noun) ?? [];
    return ids[nth % ids.length] ?? "none";
  }

  all = (noun: string): string[] => this.#ids.get(noun) ?? [];
}

async function take(world: World, ids: Ids, { method, path, body }: Sent, nth: number): Promise<void> {
  const fill = (text: string) => text.replace(/{(\w+)}/g, (_, noun: string) => ids.of(noun, nth));
  const { ms = 0 } = body as { ms?: number };
  const answer = path.startsWith("submit")
    ? (await Promise.all(
      Array(path === "submit" ? 1 : often).fill(0).map(() => world.submit(body, ids.of("dep", nth))),
    ))[0]!
    : path === "read"
    ? await world.read(ids.of("dep", nth))
    : path === "wait"
    ? undefined
    : await world.manage(method, fill(path), JSON.parse(fill(JSON.stringify(body))));
  if (path === "wait") {
    world.now += ms;
    const errors = await runChecks({
      store: { database: world.database, clock: () => world.now },
      isOver: () => false,
    });
    assert.equal(errors, []);
    await deliverer(world, () => ({ status: nth % 2 === 0 ? 204 : 500 })).run();
  }
  if (answer === undefined) return;
  assert.ok(answer.status < 500, `${path} ${answer.text} ${world.logged.join()}`);
  ids.collect(answer.text);
}

/** The noun whose id stands behind a part of a path, by how its ids begin. */
const nouns: Record<string, string> = {
  ...{ workspaces: "ws", keys: "key", tokens: "token", prompts: "prompt", deployments: "dep", changes: "change" },
  ...{ diagnoses: "diag", reviews: "review", budgets: "budget", webhooks: "wh", alerts: "alert", rollouts: "ro" },
};

/** Values of members that are no id. */
const values: Record<string, (ids: Ids) => string> = {
  version: () => "1",
  from: () => "1",
  time: () => String(most),
  month: () => "2026-11",
  sessionId: () => "a",
  ids: (ids) => ids.all("diag").slice(0, 20).join(),
  a: (ids) => ids.of("dep"),
  b: (ids) => ids.of("dep", 1),
  name: () => "thumb",
  authors: () => ",Because",
  recordId: (ids) => ids.of("diag"),
};

/** Requests to an operation that reads, one for each of the first ids. */
function requestsOf({ path, input }: AnyOperation, ids: Ids): string[] {
  const [, first = "", member] = /^\/([a-z-]+)\/{(\w+)}/.exec(path) ?? [];
  const owners = member === undefined ? [""] : ids.all(nouns[first]!).slice(0, 8);
  return owners.map((owner) => {
    const filled = path.replace(
      /{(\w+)}/g,
      (_, name: string) => name === member ? owner : name === "rollout" ? ids.of("ro") : values[name]!(ids),
    );
    const needed = Object.entries(input.schema).filter(([name, struct]) =>
      !isOptional(struct) && !path.includes(`{${name}}`)
    ).map(([name]) => [name, values[name]!(ids)]);
    return filled + (needed.length === 0 ? "" : `?${new URLSearchParams(needed)}`);
  });
}

test("every answer is as it is declared after random histories with extreme values", async () => {
  const seen = new Set<string>();
  for (const steps of fc.sample(history, { seed, numRuns: isFull ? 30 : 4 })) {
    const world = await createWorld({ monthlyLimit: most }), ids = new Ids();
    const document = (await world.send("/openapi.json")).json as OpenApi;
    const contract = readContract(document, "http://ledger.test/openapi.json");
    ids.collect(JSON.stringify([world.workspaceId, world.keyId, world.promptId, world.deployId]));
    for (const [sent, nth] of steps) await take(world, ids, sent, nth);
    for (const operation of operations.filter(({ method }) => method === "GET")) {
      const described = contract.operations.find(({ operationId }) => operationId === operation.id)!;
      for (const path of requestsOf(operation, ids)) {
        const answer = await world.manage("GET", path);
        if (answer.status === 200) seen.add(operation.id);
        else assert.ok([400, 404].includes(answer.status), `${path} ${answer.text}`);
        contract.checkAnswer(described, answer);
      }
    }
    for (const path of ["/v1/usage", "/v1/revisions", "/v1/prompts"]) {
      const described = contract.operations.find((each) => each.path === path && each.method === "GET")!;
      contract.checkAnswer(described, await world.send(`${path}?deployId=${world.deployId}`));
    }
    await world.close();
  }
  const unseen = operations.filter(({ id, method }) => method === "GET" && !seen.has(id)).map(({ id }) => id);
  assert.equal(unseen, []);
});

test.run();
