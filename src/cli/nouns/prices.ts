// Shows prices on the command line, and imports them.
import { groupBy } from "../../support/group-by.ts";
import { readTier, tierText } from "../../management/prompts/price-tiers.ts";
import { areSameTerms, listPrices, setPrice, setPrices } from "../../management/prompts/prices.ts";
import type { GivenPrice, Price, PriceTerms } from "../../management/prompts/prices.ts";
import type { Arguments } from "../frame/arguments.ts";
import { show } from "../frame/command.ts";
import { counted, format, formatTime } from "../frame/format.ts";
import { readAll } from "../frame/lists.ts";
import { present } from "../frame/operation-commands.ts";
import { readPriceFile } from "./price-files.ts";
import type { PriceFile } from "./price-files.ts";

const describeStart = ({ validFrom }: Price) => validFrom === 0 ? "always" : formatTime(validFrom);

/** The most important columns come first, because a narrow terminal shows the last ones below. */
const toRow = (price: Price) => {
  const { model, provider, input, output, cachedInput, cacheWrite, cacheWriteHour, tiers, unpricedMedia, id } = price;
  return {
    ...{ model, provider, input, output, cachedInput, cacheWrite, cacheWriteHour },
    ...{ tiers: tiers.map(tierText), unpricedMedia, validFrom: describeStart(price), id },
  };
};

/** Members of lists, of which an empty text has none. */
const listsOf = (args: Arguments): Pick<GivenPrice, "tiers" | "unpricedMedia"> => ({
  tiers: args.texts("tier").filter((text) => text !== "").map(readTier),
  unpricedMedia: args.texts("unpriced-media") as Price["unpricedMedia"],
});

const batchSize = 500;
const day = 86_400_000; // ms

const keyOf = ({ provider, model }: Pick<PriceTerms, "provider" | "model">) => `${provider}\n${model}`;

/** The price that holds at a time. */
const inForce = (prices: readonly PriceTerms[], at: number): PriceTerms | undefined =>
  prices.filter(({ validFrom }) => validFrom <= at)
    .reduce<PriceTerms | undefined>((a, b) => a === undefined || b.validFrom >= a.validFrom ? b : a, undefined);

/**
 * Prices to set, so that the price of a file that holds today holds here too. The prices of a new model also apply to
 * the past. A model that has a price gets those with a date, and otherwise begins today, so its past stays the same.
 */
function toNew(prices: readonly PriceTerms[], known: readonly PriceTerms[], today: number): PriceTerms[] {
  if (known.length === 0) return [...prices];
  const isOther = (price: PriceTerms, all: readonly PriceTerms[], at: number): boolean => {
    const other = inForce(all, at);
    return other === undefined || !areSameTerms(price, other);
  };
  const dated = prices.filter((price) => price.validFrom > 0 && isOther(price, known, price.validFrom));
  const after = [...known.filter((each) => !dated.some(({ validFrom }) => validFrom === each.validFrom)), ...dated];
  const now = inForce(prices, today);
  return now !== undefined && isOther(now, after, today) ? [...dated, { ...now, validFrom: today }] : dated;
}

/** `Skipped 5 models: 3 with a fee …, 2 without …`, and what else is left out. */
function describeGaps({ skipped, withFees, withMedia }: PriceFile): string {
  const counts = new Map<string, number>();
  for (const reason of skipped) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`);
  return [
    ...skipped.length > 0 ? [`Skipped ${counted(skipped.length, "model")}: ${reasons.join("; ")}`] : [],
    ...withFees > 0 ? [`Left out the fees of tools, such as web searches, of ${counted(withFees, "model")}`] : [],
    ...withMedia > 0
      ? [
        `Left out other prices of audio, images and video of ${
          counted(withMedia, "model")
        }: records with such tokens ` +
        "have no cost",
      ]
      : [],
  ].join("\n");
}

export const pricePresentations = [
  present(setPrice, {
    explanations: {
      tier: "Other prices for requests with more input tokens than above, or at hours in UTC: above=200000 input=4 " +
        "cached-input=0.4 output=12. The last one that holds counts",
    },
    async run({ args, call }, input) {
      const price = await call(setPrice, { ...input, ...listsOf(args) });
      return { data: price, text: () => format({ ...price, ...toRow(price) }) };
    },
  }),
  present(listPrices, { row: toRow }),
  present(setPrices, {
    explanations: {
      FILE: "The prices as JSON, of @pydantic/genai-prices or models.dev. - is standard input",
      provider: "Only prices of this provider. Default: all",
      from: "The time from which all prices apply. Default: the beginning, or today where a price changes",
    },
    async run({ args, call, terminal }) {
      const from = args.findNumber("from");
      const provider = args.findText("provider")?.toLowerCase();
      const file = readPriceFile(await terminal.read(args.text("FILE")), from ?? 0, provider);
      const known = groupBy(await readAll(call, listPrices, {}), keyOf);
      const today = Math.floor(Date.now() / day) * day;
      const added = from === undefined
        ? [...groupBy(file.prices, keyOf)].flatMap(([key, prices]) => toNew(prices, known.get(key) ?? [], today))
        : file.prices;
      const sum = { set: 0, unchanged: file.prices.length - added.length, skipped: file.skipped.length };
      for (let at = 0; at < added.length; at += batchSize) {
        const part = await call(setPrices, { prices: added.slice(at, at + batchSize) });
        sum.set += part.set;
        sum.unchanged += part.unchanged;
        terminal.report(`Set ${sum.set} prices`);
      }
      return show(sum, describeGaps(file) || undefined);
    },
  }),
];
