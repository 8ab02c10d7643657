// How the command line shows prices, and imports them.
import { listPrices, setPrice, setPrices } from "../management/prices.ts";
import type { GivenPrice, Price } from "../management/prices.ts";
import { show } from "./command.ts";
import { counted, format, formatTime } from "./format.ts";
import { readAll } from "./lists.ts";
import { present } from "./operation-commands.ts";
import { readPriceFile } from "./price-files.ts";

const describeStart = ({ validFrom }: Price) => validFrom === 0 ? "always" : formatTime(validFrom);

/** The most important columns come first, because a narrow terminal shows the last ones below. */
const toRow = (price: Price) => {
  const { model, provider, input, output, cachedInput, id } = price;
  return { model, provider, input, output, cachedInput, validFrom: describeStart(price), id };
};

const batchSize = 500;
const day = 86_400_000; // ms

/**
 * When the price of a file begins. The first one of a model holds for the past too. A later one begins today, so that it
 * does not change the past.
 */
function toNew(price: GivenPrice, known: Price[], today: number): GivenPrice[] {
  const { provider = "*", model, validFrom = 0 } = price;
  const own = known.filter((other) => other.provider === provider && other.model === model);
  const isKnown = own.length > 0 && validFrom === 0;
  const newest = own.reduce<Price | undefined>(
    (a, b) => a === undefined || b.validFrom > a.validFrom ? b : a,
    undefined,
  );
  const isSame = newest?.input === price.input && newest.output === price.output &&
    newest.cachedInput === (price.cachedInput ?? null);
  if (isKnown && isSame) return [];
  return [isKnown ? { ...price, validFrom: today } : price];
}

/** `Skipped 5 models: 3 with tiers …, 2 without …` */
function describeSkipped(skipped: string[]): string {
  const counts = new Map<string, number>();
  for (const reason of skipped) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`);
  return `Skipped ${counted(skipped.length, "model")}: ${reasons.join("; ")}`;
}

export const pricePresentations = [
  present(setPrice, {
    show: (price) => ({ data: price, text: () => format({ ...price, validFrom: describeStart(price) }) }),
  }),
  present(listPrices, { row: toRow }),
  present(setPrices, {
    explanations: {
      FILE: "The prices as JSON, of @pydantic/genai-prices or models.dev. - is standard input",
      provider: "Only prices of this provider. Default: all",
      from: "The first moment of all prices. Default: from the beginning, or from today where a price changes",
    },
    async run({ args, call, terminal }) {
      const from = args.findNumber("from");
      const wanted = args.findText("provider")?.toLowerCase();
      const { prices, skipped } = readPriceFile(await terminal.read(args.text("FILE")), from ?? 0);
      const chosen = prices.filter(({ provider = "*" }) => wanted === undefined || provider.toLowerCase() === wanted);
      const known = await readAll(call, listPrices, {});
      const today = Math.floor(Date.now() / day) * day;
      const added = from === undefined ? chosen.flatMap((price) => toNew(price, known, today)) : chosen;
      const sum = { set: 0, unchanged: chosen.length - added.length, skipped: skipped.length };
      for (let at = 0; at < added.length; at += batchSize) {
        const part = await call(setPrices, { prices: added.slice(at, at + batchSize) });
        sum.set += part.set;
        sum.unchanged += part.unchanged;
        terminal.report(`Set ${sum.set} prices`);
      }
      return show(
        sum,
        skipped.length === 0 ? undefined : describeSkipped(skipped),
      );
    },
  }),
];
