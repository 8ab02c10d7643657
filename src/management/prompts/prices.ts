// Prices of models, in USD per million tokens. They are the operator's own, and hold for all workspaces. Costs are computed
// when they are read, so that a corrected price corrects the past.
import { bounds } from "../../support/bounds.ts";
import { notFound } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type { PriceId } from "../../common/ids.ts";
import { media } from "../../statistics/rates.ts";
import type { Medium } from "../../statistics/rates.ts";
import { described, exactly, listOf, oneOf, option, optional, orNull, refined, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import type { Change } from "../kernel/commit.ts";
import { listOperation } from "../kernel/declare.ts";
import { operation, pageOf } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import type { Statement } from "../../database/database.ts";
import { requireRoom } from "../kernel/room.ts";
import { insertInto, tableOf, updateOf } from "../kernel/table.ts";

const usd = v.matching(
  "a decimal text of USD such as 0.15, below 1000000 and with at most 9 decimals",
  String.raw`^(0|[1-9]\d{0,5})(\.\d{1,9})?$`,
  { examples: ["0.15"] },
);
const perMillion = (what: string) => described(usd, `USD per million tokens of ${what}`);

const prices = {
  input: perMillion("input"),
  cachedInput: orNull(usd, "USD per million tokens of input from a cache. Null: as other input"),
  cacheWrite: orNull(usd, "USD per million tokens of input that is written to a cache. Null: as other input"),
  cacheWriteHour: orNull(
    usd,
    "USD per million tokens of input that is written to a cache for an hour. Null: as what is written for less",
  ),
  output: perMillion("output"),
};

/** Prices as a request has them. */
const givenPrices = {
  ...prices,
  cachedInput: optional(prices.cachedInput),
  cacheWrite: optional(prices.cacheWrite),
  cacheWriteHour: optional(prices.cacheWriteHour),
};

const time = "([01][0-9]|2[0-3]):[0-5][0-9]";
const hours = v.matching("times of the day in UTC such as 01:00-04:00", `^${time}-(${time}|24:00)$`, {
  examples: ["01:00-04:00"],
});
const when = {
  above: orNull(v.count, "These prices hold for requests with more input tokens than this. Null: with any number"),
  hours: orNull(hours, "These prices hold at these times of the day, in UTC. Null: all day"),
};
const PriceTier = shape("PriceTier", { ...when, ...prices });
export type PriceTier = Infer<typeof PriceTier>;

const GivenTier = exactly({ above: optional(when.above), hours: optional(when.hours), ...givenPrices });
export type GivenTier = Infer<typeof GivenTier>;

const maxTiers = 10;
const tierWords = "Other prices, for requests with more input tokens, or at some times of the day. The last one that " +
  "holds for a request counts";
const tiers = described(listOf(PriceTier), tierWords);
const givenTiers = described(
  refined(
    listOf(GivenTier),
    (tiers) => tiers.length <= maxTiers && tiers.every(({ above, hours }) => (above ?? hours ?? null) !== null),
    `an array of at most ${maxTiers} tiers, each with above or hours`,
    { maxItems: maxTiers },
  ),
  tierWords,
);

const medium = oneOf(...Object.keys(media) as Medium[]);
const unpricedMedia = described(
  refined(listOf(medium), (media) => new Set(media).size === media.length, "an array of different media", {
    uniqueItems: true,
  }),
  "Media with a different price. A record with tokens of them has no cost by this price",
);

const modelWords =
  "The name of a model, in which each * stands for any text, and each # for a digit. Case does not matter";

const price = {
  id: v.textAs<PriceId>(),
  provider: described(v.text, "The name of a provider, or * for every one. Case does not matter"),
  model: described(v.text, modelWords),
  ...prices,
  tiers,
  unpricedMedia,
  validFrom: described(
    v.timestamp,
    "The time from which it applies, in Unix milliseconds. It ends where the next price of its provider and model begins",
  ),
  createdAt: v.timestamp,
};
export const Price = shape("Price", price);
export type Price = Infer<typeof Price>;

const pattern = refined(v.name, (value) => [...value].length <= 100, "at most 100 characters", { maxLength: 100 });

/** A price as a request has it. */
const given = {
  model: described(pattern, modelWords),
  provider: option(pattern, "The name of a provider. Default: every provider", { default: "*" }),
  ...givenPrices,
  tiers: optional(givenTiers),
  unpricedMedia: optional(unpricedMedia),
  validFrom: option(v.timestamp, "The time from which it applies, in Unix milliseconds. Default: from the beginning"),
};
const GivenPrice = exactly(given);
export type GivenPrice = Infer<typeof GivenPrice>;

export const priceTable = tableOf(Price, "select * from prices");

/** A price without its id and the time at which it was set. */
export type PriceTerms = Omit<Price, "id" | "createdAt">;

/** Terms of a request, with every member. */
export function termsOf(given: GivenPrice): PriceTerms {
  const { provider = "*", model, tiers = [], unpricedMedia = [], validFrom = 0 } = given;
  return {
    provider,
    model,
    ...withAll(given),
    tiers: tiers.map(({ above = null, hours = null, ...prices }) => ({ above, hours, ...withAll(prices) })),
    unpricedMedia: unpricedMedia.toSorted(),
    validFrom,
  };
}

const withAll = (
  { input, cachedInput = null, cacheWrite = null, cacheWriteHour = null, output }: Omit<GivenTier, "above" | "hours">,
) => ({
  ...{ input, cachedInput, cacheWrite, cacheWriteHour, output },
});

/** True if two prices of a model are the same for every request. */
export const areSameTerms = (one: PriceTerms, other: PriceTerms): boolean => termsText(one) === termsText(other);

const termsText = (
  { input, cachedInput, cacheWrite, cacheWriteHour, output, tiers, unpricedMedia }: PriceTerms,
): string => JSON.stringify([input, cachedInput, cacheWrite, cacheWriteHour, output, tiers, unpricedMedia]);

type Plan = { price: Price; changes: Change[]; statements: Statement[] };

/** Lists are stored as JSON. */
const toRow = <Item extends PriceTerms>({ tiers, unpricedMedia, ...others }: Item) => ({
  ...others,
  tiers: JSON.stringify(tiers),
  unpricedMedia: JSON.stringify(unpricedMedia),
});

/** Plans to add a price, or to change the one of the same provider, model and time. */
function planPrice(before: Price | undefined, given: GivenPrice, now: number): Plan {
  const terms = termsOf(given);
  if (before === undefined) {
    const price = { id: newId("price", now), ...terms, createdAt: now };
    const change = { action: "price.set", id: price.id, workspaceId: null, after: terms };
    return { price, changes: [change], statements: [insertInto("prices", toRow(price))] };
  }
  const price = { ...before, ...terms };
  if (areSameTerms(before, price)) return { price: before, changes: [], statements: [] };
  const change = { action: "price.set", id: price.id, workspaceId: null, before, after: price };
  return { price, changes: [change], statements: [updateOf("prices", price.id, toRow(terms))] };
}

/** Key of a price: its provider, its model and its start. */
const keyOf = ({ provider = "*", model, validFrom = 0 }: Pick<GivenPrice, "provider" | "model" | "validFrom">) =>
  JSON.stringify([provider, model, validFrom]);

async function planPrices(management: Management, prices: GivenPrice[]): Promise<Plan[]> {
  const { database, clock } = management;
  const rows = await database.read({
    sql: `select p.* from json_each(:keys) k cross join prices p
      on p.provider = k.value ->> 0 and p.model = k.value ->> 1 and p.valid_from = k.value ->> 2`,
    args: { keys: `[${prices.map(keyOf).join()}]` },
  });
  const present = new Map(rows.map(priceTable.toItem).map((price) => [keyOf(price), price]));
  const last = new Map(prices.map((price) => [keyOf(price), price]));
  await requireRoom(management, "prices", null, [...last.keys()].filter((key) => !present.has(key)).length);
  return [...last].map(([key, price]) => planPrice(present.get(key), price, clock()));
}

export const setPrice = operation({
  id: "setPrice",
  summary: "Set the price of a model. It replaces the one of the same provider, model and time",
  method: "POST",
  path: "/prices",
  role: "owner",
  command: "price set --model PATTERN --input USD --output USD [--cached-input USD] [--cache-write USD] " +
    "[--cache-write-hour USD] [--tier TIER]... [--unpriced-media audio|image|video]... [--provider NAME] [--from TIME]",
  input: given,
  output: Price,
  conflicts: true,
  async run(management, price) {
    const [plan] = await planPrices(management, [price]);
    if (plan!.changes.length > 0) await management.commit(plan!.changes, plan!.statements);
    return plan!.price;
  },
});

const maxPrices = bounds.pricesAtOnce;
const PriceImport = shape("PriceImport", {
  set: described(v.count, "How many prices were added or changed"),
  unchanged: v.count,
});

/** The command line reads foreign price files, and sends the prices here. */
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
  conflicts: true,
  async run(management, { prices }) {
    const plans = await planPrices(management, prices);
    const changes = plans.flatMap(({ changes }) => changes);
    if (changes.length > 0) await management.commit(changes, plans.flatMap(({ statements }) => statements));
    return { set: changes.length, unchanged: plans.length - changes.length };
  },
});

export const listPrices = listOperation({
  id: "listPrices",
  summary: "List the prices of models, the last added first",
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
