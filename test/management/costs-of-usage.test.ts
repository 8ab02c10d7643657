// What records cost, by the prices and by what their providers report.
// Runs on Node alone.
import { readFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { BudgetState } from "../../src/management/money/budgets.ts";
import type { MonthCosts } from "../../src/management/records/costs.ts";
import type { RecordFigures } from "../../src/management/records/record-figures.ts";
import { createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";
import { readAll, taken } from "./management.ts";

const test = suite("costs of usage");

type Tokens = { input: number | null; output: number | null; cached: number; written?: number; writtenHour?: number };
type Example = { from: string; usage: object; tokens: Tokens; cost?: string };
const examples = JSON.parse(await readFile(pathOf("test/ledger/usages.json"), "utf8")) as Example[];

const prices = { input: "2", cachedInput: "0.2", cacheWrite: "2.5", cacheWriteHour: "4", output: "10" };

/** The cost by these prices in ten-millionths of a USD, which makes each of them a whole number. */
const tenMillionthsOf = ({ input, output, cached, written = 0, writtenHour = 0 }: Tokens): number =>
  20 * ((input ?? 0) - cached - written) + 2 * cached + 25 * (written - writtenHour) + 40 * writtenHour +
  100 * (output ?? 0);

const submit = async (world: World, more: object): Promise<string> =>
  taken<{ id: string }>(await world.submit({ ...goodBody, ...more }), 201).id;

const figuresOf = async ({ manage, workspaceId }: World, ids: string[]) =>
  taken<{ items: RecordFigures[] }>(await manage("GET", `/workspaces/${workspaceId}/record-figures?ids=${ids}`)).items;

const setCostSource = ({ manage, workspaceId }: World, costSource: "provider" | "prices") =>
  manage("PATCH", `/workspaces/${workspaceId}`, { costSource });

const totalOf = async ({ manage, workspaceId }: World) =>
  taken<MonthCosts>(await manage("GET", `/workspaces/${workspaceId}/costs/2026-11`)).cost;

test("a record costs what its provider reports, or else by its tokens, wherever they were read from or written to", async () => {
  const world = await createWorld();
  taken(await world.manage("POST", "/prices", { model: "gpt-4o", ...prices }));
  const ids: string[] = [];
  for (const { usage } of examples) ids.push(await submit(world, { additional_properties: { token_usage: usage } }));
  const check = async (isByPrices: boolean) => {
    const figures = await figuresOf(world, ids);
    for (const [nth, { from, tokens, cost }] of examples.entries()) {
      const { input: prompt, output: completion, cached, written = 0 } = tokens;
      const own = cost === undefined || isByPrices;
      const expected = own ? tenMillionthsOf(tokens) / 1e7 : Number(cost);
      assert.equal(figures[nth], {
        id: ids[nth],
        model: "gpt-4o",
        tokens: { prompt, completion, cached, written },
        cost: figures[nth]!.cost,
        costSource: own ? "prices" : "provider",
      }, from);
      assert.is(Number(figures[nth]!.cost), expected, from);
    }
  };
  await check(false);
  taken(await setCostSource(world, "prices"));
  await check(true);
  await world.close();
});

test("a cost of the record itself comes first, and one of its provider where no price is", async () => {
  const world = await createWorld();
  const usage = { prompt_tokens: 1_000_000, completion_tokens: 0, cost: 0.5 };
  const ids = [
    await submit(world, { cost: "7", usage }),
    await submit(world, { usage }),
    await submit(world, { usage: { ...usage, cost: undefined } }),
    // More than a record can cost. The price counts.
    await submit(world, { usage: { ...usage, cost: 1e13 } }),
  ];
  const costs = async () => (await figuresOf(world, ids)).map(({ cost, costSource }) => [cost, costSource]);
  const unpriced = [["7", "record"], ["0.5", "provider"], [null, null], [null, null]];
  assert.equal(await costs(), unpriced);
  taken(await setCostSource(world, "prices"));
  assert.equal(await costs(), unpriced);
  taken(await world.manage("POST", "/prices", { model: "gpt-4o", ...prices }));
  assert.equal(await costs(), [["7", "record"], ["2", "prices"], ["2", "prices"], ["2", "prices"]]);
  taken(await setCostSource(world, "provider"));
  assert.equal(await costs(), [["7", "record"], ["0.5", "provider"], ["2", "prices"], ["2", "prices"]]);
  await world.close();
});

test("a record that names its model in its own way has the price of its version's provider", async () => {
  const world = await createWorld();
  for (const [provider, input] of [["openai", "2"], ["azure", "3"], ["anthropic", "5"]]) {
    taken(await world.manage("POST", "/prices", { provider, model: "*", input, output: "10" }));
  }
  const usage = { prompt_tokens: 1_000_000, completion_tokens: 0 };
  const costOf = async (more: object) => (await figuresOf(world, [await submit(world, { usage, ...more })]))[0]!.cost;
  // The version has the model gpt-4o of the provider openai.
  for (const model of [undefined, "gpt-4o", "GPT-4o", "gpt-4o-2024-08-06"]) assert.is(await costOf({ model }), "2");
  assert.is(await costOf({ model: "gpt-4o-2024-08-06", provider: "Azure" }), "3");
  assert.is(await costOf({ provider: "anthropic" }), "5");
  assert.is(await costOf({ provider: "elsewhere" }), null);
  await world.close();
});

test("costs of a month, filters and budgets follow the source that the workspace prefers", async () => {
  const world = await createWorld();
  taken(await world.manage("POST", "/prices", { model: "gpt-4o", ...prices }));
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/budgets`, { amount: "1", per: "month" }), 201);
  const id = await submit(world, { usage: { prompt_tokens: 1_000_000, completion_tokens: 0, cost: 0.5 } });
  const all = async () => {
    const path = `/workspaces/${world.workspaceId}`;
    const [budget] = await readAll<BudgetState>(world, `${path}/budgets`);
    const costlier = await readAll<{ id: string }>(world, `${path}/diagnoses?costlierThan=1`);
    return [await totalOf(world), budget!.spent, costlier.map((record) => record.id)];
  };
  assert.equal(await all(), ["0.5", "0.5", []]);
  taken(await setCostSource(world, "prices"));
  assert.equal(await all(), ["2", "2", [id]]);
  taken(await setCostSource(world, "provider"));
  assert.equal(await all(), ["0.5", "0.5", []]);
  await world.close();
});

test("a price by tiers of input, by hours and without some media costs what holds for each record", async () => {
  const world = await createWorld();
  const tiers = [
    { above: 200_000, input: "4", cachedInput: "0.4", output: "15" },
    { hours: "23:30-01:00", input: "1", output: "5" },
  ];
  const price = { model: "gpt-4o", ...prices, tiers, unpricedMedia: ["audio"] };
  taken(await world.manage("POST", "/prices", price));
  const usageOf = (prompt_tokens: number, more = {}) => ({ usage: { prompt_tokens, completion_tokens: 0, ...more } });
  const costOf = async (more: object) => (await figuresOf(world, [await submit(world, more)]))[0]!.cost;
  assert.is(await costOf(usageOf(200_000)), "0.4");
  assert.is(await costOf(usageOf(200_001)), "0.800004");
  // A tier without a price of cache writes has that of its input.
  const written = { prompt_tokens_details: { cache_write_tokens: 300_000 } };
  assert.is(await costOf(usageOf(300_000, written)), "1.2");
  assert.is(await costOf(usageOf(100_000, { prompt_tokens_details: { audio_tokens: 1 } })), null);
  assert.is(await costOf(usageOf(100_000, { prompt_tokens_details: { image_tokens: 1 } })), "0.2");
  const midnight = Date.UTC(2026, 10, 28);
  for (
    const [at, cost] of [[-1_800_001, "2"], [-1_800_000, "1"], [0, "1"], [3_599_999, "1"], [3_600_000, "2"]] as const
  ) {
    world.now = midnight + at;
    assert.is(await costOf(usageOf(1_000_000 - 800_000)), String(Number(cost) / 5), `${at}`);
  }
  world.now = midnight;
  assert.is(await costOf(usageOf(1_000_000)), "1");
  await world.close();
});

test.run();
