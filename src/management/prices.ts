// Prices of models, in USD per million tokens. They are the operator's own, and hold for all workspaces. Costs are computed
// when they are read, so that a corrected price corrects the past.
import { notFound } from "../common/errors.ts";
import { newId } from "../common/ids.ts";
import type { PriceId } from "../common/ids.ts";
import { described, exactly, listOf, option, optional, orNull, refined, shape } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import type { Change } from "./commit.ts";
import { operation, pageOf } from "./operation.ts";
import type { Management } from "./operation.ts";
import type { Statement } from "../database/database.ts";
import { insertInto, tableOf, updateOf } from "./table.ts";

const usd = v.matching(
  "a decimal text of USD such as 0.15, below 1000000 and with at most 9 decimals",
  String.raw`^(0|[1-9]\d{0,5})(\.\d{1,9})?$`,
  { examples: ["0.15"] },
);
const perMillion = (what: string) => described(usd, `USD per million tokens of ${what}`);

const price = {
  id: v.textAs<PriceId>(),
  provider: described(v.text, "The name of a provider, or * for every one. Case does not matter"),
  model: described(v.text, "The name of a model, in which each * stands for any text. Case does not matter"),
  input: perMillion("input"),
  cachedInput: orNull(usd, "USD per million tokens of input from a cache. Null: as other input"),
  output: perMillion("output"),
  validFrom: described(
    v.timestamp,
    "Its first moment in Unix milliseconds. It ends where the next price of its provider and model begins",
  ),
  createdAt: v.timestamp,
};
export const Price = shape("Price", price);
export type Price = Infer<typeof Price>;

const pattern = refined(v.name, (value) => [...value].length <= 100, "at most 100 characters", { maxLength: 100 });

/** A price as a request has it. */
const given = {
  model: described(pattern, "The name of a model, in which each * stands for any text. Case does not matter"),
  provider: option(pattern, "The name of a provider. Default: every provider", { default: "*" }),
  input: price.input,
  cachedInput: optional(price.cachedInput),
  output: price.output,
  validFrom: option(v.timestamp, "Its first moment, in Unix milliseconds. Default: from the beginning"),
};
const GivenPrice = exactly(given);
export type GivenPrice = Infer<typeof GivenPrice>;

export const priceTable = tableOf(Price, "select * from prices");

type Plan = { price: Price; changes: Change[]; statements: Statement[] };

/** Plans to add a price, or to change the one of the same provider, model and time. */
function planPrice(before: Price | undefined, input: GivenPrice, now: number): Plan {
  const { model, provider = "*", cachedInput = null, validFrom = 0, input: inputPrice, output } = input;
  const columns = { provider, model, input: inputPrice, cachedInput, output, validFrom };
  if (before === undefined) {
    const price = { id: newId("price", now), ...columns, createdAt: now };
    const change = { action: "price.set", id: price.id, workspaceId: null, after: columns };
    return { price, changes: [change], statements: [insertInto("prices", price)] };
  }
  const price = { ...before, ...columns };
  const isSame = inputPrice === before.input && cachedInput === before.cachedInput && output === before.output;
  if (isSame) return { price, changes: [], statements: [] };
  const change = { action: "price.set", id: price.id, workspaceId: null, before, after: price };
  return { price, changes: [change], statements: [updateOf("prices", price.id, columns)] };
}

/** The price of a provider and a model that begins at a time. */
const keyOf = ({ provider = "*", model, validFrom = 0 }: Pick<GivenPrice, "provider" | "model" | "validFrom">) =>
  JSON.stringify([provider, model, validFrom]);

async function planPrices({ database, clock }: Management, prices: GivenPrice[]): Promise<Plan[]> {
  const rows = await database.read({
    sql: `select p.* from json_each(:keys) k cross join prices p
      on p.provider = k.value ->> 0 and p.model = k.value ->> 1 and p.valid_from = k.value ->> 2`,
    args: { keys: `[${prices.map(keyOf).join()}]` },
  });
  const present = new Map(rows.map(priceTable.toItem).map((price) => [keyOf(price), price]));
  const last = new Map(prices.map((price) => [keyOf(price), price]));
  return [...last].map(([key, price]) => planPrice(present.get(key), price, clock()));
}

export const setPrice = operation({
  id: "setPrice",
  summary: "Set the price of a model. It replaces the one of the same provider, model and time",
  method: "POST",
  path: "/prices",
  role: "owner",
  command: "price set --model PATTERN --input USD --output USD [--cached-input USD] [--provider NAME] [--from TIME]",
  input: given,
  output: Price,
  async run(management, price) {
    const [plan] = await planPrices(management, [price]);
    if (plan!.changes.length > 0) await management.commit(plan!.changes, plan!.statements);
    return plan!.price;
  },
});

const maxPrices = 500;
const PriceImport = shape("PriceImport", {
  set: described(v.count, "How many prices were added or changed"),
  unchanged: v.count,
});

/** The command line reads files of others, and sends what it found here. */
export const setPrices = operation({
  id: "setPrices",
  summary: "Set many prices at once",
  method: "POST",
  path: "/price-lists",
  role: "owner",
  command: "price import FILE [--provider NAME] [--from TIME]",
  input: {
    prices: refined(
      listOf(GivenPrice),
      (prices) => prices.length <= maxPrices,
      `an array of at most ${maxPrices} prices`,
      { maxItems: maxPrices },
    ),
  },
  output: PriceImport,
  async run(management, { prices }) {
    const plans = await planPrices(management, prices);
    const changes = plans.flatMap(({ changes }) => changes);
    if (changes.length > 0) await management.commit(changes, plans.flatMap(({ statements }) => statements));
    return { set: changes.length, unchanged: plans.length - changes.length };
  },
});

export const listPrices = operation({
  id: "listPrices",
  summary: "List the prices of models, the last added first",
  method: "GET",
  path: "/prices",
  command: "price list",
  input: v.page,
  output: pageOf(Price),
  isScoped: true,
  run: ({ database }, page) => priceTable.list(database, {}, page),
});

export const removePrice = operation({
  id: "removePrice",
  summary: "Remove a price",
  method: "DELETE",
  path: "/prices/{id}",
  role: "owner",
  command: "price remove ID",
  input: { id: v.priceId },
  output: Price,
  async run(management, { id }) {
    const price = await priceTable.find(management.database, id);
    if (price === undefined) throw notFound("Price", id);
    await management.commit([{ action: "price.removed", id, workspaceId: null, before: price }], [
      { sql: "delete from prices where id = ?", args: [id] },
    ]);
    return price;
  },
});

export const priceOperations = [setPrice, setPrices, listPrices, removePrice];
