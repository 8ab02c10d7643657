// Each number on a page is that of the command line, over random histories.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { runIn } from "../cli/places.ts";
import { createFolder } from "../conformance/processes.ts";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import type { RecordStats, StatsPoint } from "../../src/schema/ledger.ts";
import { extremes, usually } from "../extremes.ts";
import { createWorld, noon, promptFile, toPrompt } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { listRecordFigures } from "../../src/management/records/record-figures.ts";
import type { RecordFigures } from "../../src/management/records/record-figures.ts";
import { call, createDeployment, promoteDeployment, pushPrompt, updateWorkspace } from "../actions.ts";
import { numberAt, tableIn, valuesIn, visit } from "./visitor.ts";
import type { Visitor } from "./visitor.ts";

const test = suite("numbers");

const folder = await createFolder();
test.after(() => folder.remove());

const record = fc.record({
  sessionId: fc.constantFrom("order-1", "order 2/ä"),
  status: fc.constantFrom(0, 1, 2),
  latency: fc.oneof(fc.constant(undefined), usually(fc.nat(5_000), extremes.latency)),
  startAt: fc.option(fc.constantFrom(...extremes.moment), { nil: undefined }),
  endAt: fc.option(fc.constantFrom(...extremes.moment), { nil: undefined }),
  promptVersion: fc.constantFrom(1, 2),
  cost: fc.oneof(
    fc.constant(undefined),
    usually<string | number>(fc.nat(1_000).map((mills) => mills / 1_000), extremes.cost),
  ),
  tokens: fc.oneof(
    fc.constant(undefined),
    fc.tuple(usually(fc.nat(4_000), extremes.count), usually(fc.nat(500), extremes.count)),
  ),
});
const history = fc.record({ reads: fc.nat(6), records: fc.array(record, { minLength: 1, maxLength: 20 }) });

type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** Makes a history in a world: two versions with records, names for two of three statuses, and a price. */
async function make(world: World, { reads, records }: History): Promise<void> {
  const { admin, workspaceId, deployId, promptId } = world;
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
  await promoteDeployment(admin, deployId, { version: 2 });
  const staging = await createDeployment(admin, workspaceId, { name: "staging", promptId });
  const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];
  await updateWorkspace(admin, workspaceId, { statuses });
  for (let nth = 0; nth < reads; nth++) await world.read(nth % 2 === 0 ? deployId : staging.id);
  for (const { tokens, ...given } of records) {
    const usage = tokens && {
      additional_properties: { prompt_tokens: tokens[0], completion_tokens: tokens[1], model: "gpt-4o" },
    };
    const { status } = await world.submit({ content: { input: "a", output: "b" }, ...given, ...usage });
    assert.is(status, 201);
  }
}

/** Runs the command line, and returns the JSON that it prints. */
type Cli = <T>(...args: string[]) => Promise<T>;

type Stage = { world: World; visitor: Visitor; cli: Cli };

let databases = 0;

/** Holds pages to the command line over some histories. */
const forHistories = (check: (stage: Stage) => Promise<void>) => async () => {
  const property = fc.asyncProperty(history, async (given) => {
    const DATABASE_URL = `file:${folder.path}/${databases++}.db`;
    const database = openDatabase(DATABASE_URL);
    await migrate(database, migrations, noon);
    const world = await createWorld({ database });
    const cli: Cli = async (...args) => JSON.parse((await runIn([...args, "--json"], { DATABASE_URL })).out);
    try {
      await cli("price", "set", "--model", "gpt-4o", "--input", "2.5", "--output", "10");
      await make(world, given);
      await check({ world, visitor: await visit(world), cli });
    } finally {
      await world.close();
    }
  });
  await fc.assert(property, { numRuns: isFull ? 5 : 2 });
};

/** Numbers as a page has them. It has none for what is not known. */
const exact = (...numbers: (number | string | null | undefined)[]): string[] =>
  numbers.filter((number) => number !== null && number !== undefined).map(String);

/** The figures of a column of statistics, from the top to the bottom. */
function figuresOf({ records, failures, latency, tokens, cost, statuses, otherStatuses }: RecordStats): string[][] {
  return [
    exact(records),
    exact(...failures?.share === null ? [] : [failures?.records, failures?.share, failures?.low, failures?.high]),
    ...[latency.p50, latency.p95, latency.p99, latency.mean, tokens.mean].map((number) => exact(number)),
    ...[tokens.prompt, tokens.completion].map((number) => tokens.records === 0 ? [] : exact(number)),
    exact(cost.mean),
    exact(cost.records === 0 ? null : cost.total, cost.unpriced === 0 ? null : cost.unpriced),
    exact(
      ...statuses.flatMap(({ records, share }) => [records, share]),
      ...otherStatuses.records === 0 ? [] : [otherStatuses.records, otherStatuses.share],
    ),
  ];
}

type Usage = {
  used: number;
  remaining: number;
  reads: number;
  submits: number;
  keys: { reads: number; submits: number }[];
  days: { reads: number; submits: number }[];
};
type Months = { month: string; used: number; reads: number; submits: number }[];

test(
  "of usage, on its page, the overview and the list of workspaces",
  forHistories(async ({ world: { workspaceId }, visitor, cli }) => {
    const usage = await cli<Usage>("usage", "--workspace", workspaceId, "--month", "2026-11");
    assert.is(numberAt(await visitor.see(""), "used"), usage.used);
    const page = await visitor.see("/usage?month=2026-11");
    for (const name of ["used", "remaining", "reads", "submits"] as const) {
      assert.is(numberAt(page, name), usage[name], name);
    }
    const days = tableIn(page, "Requests by day (UTC)").map((cells) => cells.flat());
    assert.equal(days, usage.days.map(({ reads, submits }) => exact(reads, submits)));
    const rows = tableIn(page, "Usage by key and deployment").map((cells) => cells.flat());
    assert.equal(rows, usage.keys.map(({ reads, submits }) => exact(reads, submits)));
    const months = await cli<Months>("usage", "months", "--workspace", workspaceId);
    assert.equal(
      tableIn(page, "Usage by month").map((cells) => cells.flat()),
      months.map(({ used, reads, submits }) => exact(used, reads, submits)),
    );
    assert.equal(valuesIn((await visitor.open("workspaces")).text), exact(usage.used, usage.used + usage.remaining));
  }),
);

type Stats = { versions: (RecordStats & { version: number })[]; all: RecordStats; series: StatsPoint[] };

test(
  "of statistics, on their page and beside the versions of a prompt",
  forHistories(async ({ world: { deployId, promptId }, visitor, cli }) => {
    const { versions, all, series } = await cli<Stats>("stats", "--deploy", deployId, "--interval", "day");
    const page = await visitor.see(`/deployments/${deployId}/stats?last=all`);
    const columns = versions.length > 1 ? [...versions, all] : versions;
    assert.equal(tableIn(page, "Statistics"), transposed(columns.map(figuresOf)));
    const table = await visitor.see(`/deployments/${deployId}/stats?last=all&view=table`);
    assert.equal(
      tableIn(table, "By day").map((cells) => cells.flat()),
      series.map(({ records, failures, latency, cost, tokens }) =>
        exact(
          ...[records - failures!, failures, latency.p95, latency.p50],
          cost.unpriced === records ? null : Number(cost.total),
          ...tokens.records === 0 ? [] : [tokens.prompt, tokens.completion],
        )
      ),
    );
    const prompt = await visitor.see(`/prompts/${promptId}`);
    const lines = Array.from(prompt.matchAll(/class="hint numbers">(.*?)<\/p>/gs), ([line]) => valuesIn(line));
    const newestFirst = [...versions].sort((a, b) => b.version - a.version);
    assert.equal(
      lines,
      newestFirst.map(({ records, failures, latency, cost }) =>
        exact(records, failures?.share, latency.p50, cost.mean)
      ),
    );
  }),
);

const transposed = <T>(columns: T[][]): T[][] =>
  (columns[0] ?? []).map((_, row) => columns.map((column) => column[row]!));

type Difference = { difference: number | string } | null;
type Comparison = {
  a: RecordStats;
  b: RecordStats;
  differences: Record<"failures" | "latency" | "tokens" | "cost", Difference>;
  sentence: string;
};

test(
  "of a comparison, on its page and before a promotion",
  forHistories(async ({ world: { deployId, promptId }, visitor, cli }) => {
    const { a, b, differences, sentence } = await cli<Comparison>("stats", "compare", `${deployId}:1`, `${deployId}:2`);
    const { failures, latency, tokens, cost } = differences;
    const shown = [null, failures, null, null, null, latency, tokens, null, null, cost, null, null];
    const column = shown.map((found) => exact(found === null ? null : Number(found.difference)));
    const pages = [
      [`/prompts/${promptId}/compare?from=1&to=2`, [a, b]],
      // The live version comes first.
      [`/deployments/${deployId}/promote?version=1`, [b, a]],
    ] as const;
    for (const [path, sides] of pages) {
      const page = await visitor.see(path);
      const rows = tableIn(page, "Statistics");
      if (a.records + b.records === 0) assert.equal(rows, []);
      else assert.equal(rows.map((cells) => cells.slice(0, 2)), transposed(sides.map(figuresOf)), path);
      if (sides[0] !== a) continue;
      assert.equal(rows.map((cells) => cells[2]), column);
      assert.ok(page.toLowerCase().includes(sentence.toLowerCase()), sentence);
    }
  }),
);

const tokenCounts = (
  { prompt, completion, cached }: NonNullable<RecordFigures["tokens"]>,
) => [prompt ?? 0, cached || null, completion ?? 0];

type Listed = { id: string; promptVersion: number; latency?: number; sessionId: string };
type Session = { sessionId: string; records: number; failures: number; cost: string; unpriced: number };

test(
  "of records and sessions, in lists and on their pages",
  forHistories(async ({ world: { admin, deployId, workspaceId }, visitor, cli }) => {
    const records = await cli<Listed[]>("record", "list", "--deploy", deployId);
    const ids = records.map(({ id }) => id).join(",");
    const { items } = ids === "" ? { items: [] } : await call(listRecordFigures, admin, { workspaceId, ids });
    const figures = new Map<string, RecordFigures>(items.map((each) => [each.id, each]));
    const rows = tableIn(await visitor.see(`/records?deployment=${deployId}`), "Records");
    assert.equal(
      rows.map((cells) => cells.flat()),
      records.map(({ id, latency }) => {
        const { tokens, cost } = figures.get(id)!;
        return exact(latency, tokens && (tokens.prompt ?? 0) + (tokens.completion ?? 0), cost);
      }),
    );
    for (const { id, latency, promptVersion } of records.slice(0, 3)) {
      const page = await visitor.see(`/records/${id}`);
      const { tokens, cost } = figures.get(id)!;
      assert.equal(valuesIn(page), exact(latency, ...tokens === null ? [] : tokenCounts(tokens), cost));
      assert.match(page, `>v${promptVersion}</a>`);
    }
    const sessions = await cli<Session[]>("session", "list", "--workspace", workspaceId);
    assert.equal(
      tableIn(await visitor.see("/sessions"), "Sessions").map((cells) => cells.flat()),
      sessions.map(({ records, failures, cost, unpriced }) =>
        exact(records, failures, unpriced === records ? null : cost)
      ),
    );
    for (const { sessionId, records, failures, cost, unpriced } of sessions) {
      const entries = await cli<{ record: Listed }[]>("session", "show", sessionId, "--workspace", workspaceId);
      const page = await visitor.see(`/session?${new URLSearchParams({ id: sessionId })}`);
      const [totals, timeline] = page.split("</dl>");
      assert.equal(valuesIn(totals!), exact(records, failures, unpriced === records ? null : cost, unpriced));
      // The first is how long it took in all.
      const [, ...latencies] = valuesIn(timeline!);
      assert.equal(latencies, exact(...entries.map(({ record }) => record.latency)));
    }
  }),
);

type Named = { reference: string; currentVersion: number };
type Price = { input: string; output: string };

test(
  "of versions and prices, wherever they show",
  forHistories(async ({ world: { deployId, promptId, workspaceId }, visitor, cli }) => {
    const deployments = await cli<Named[]>("deploy", "list", "--workspace", workspaceId);
    const { currentVersion } = deployments.find(({ reference }) => reference.endsWith("@production"))!;
    const page = await visitor.see(`/deployments/${deployId}`);
    assert.match(
      page,
      new RegExp(`<dt>Serves</dt><dd><a href="[^"]*\\?version=${currentVersion}">v${currentVersion}<`),
    );
    for (const path of ["", "/deployments", "/prompts", `/prompts/${promptId}`]) {
      const page = await visitor.see(path);
      for (const { currentVersion } of deployments) assert.match(page, `<b>v${currentVersion}</b>`, path);
    }
    const prices = await cli<Price[]>("price", "list");
    const rows = tableIn(await visitor.see("/prices"), "Prices").map((cells) => cells.flat());
    assert.equal(rows, prices.map(({ input, output }) => [input, output]));
  }),
);

test.run();
