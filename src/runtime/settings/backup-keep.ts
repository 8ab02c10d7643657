// Rules for the backups to keep: `24 hourly, 30 daily, 12 monthly`.

const day = 86_400_000; // ms

/** UTC period that contains a time, by the word of a rule. */
const periods = {
  latest: (at: number) => String(at),
  hourly: (at: number) => isoOf(at).slice(0, 13),
  daily: (at: number) => isoOf(at).slice(0, 10),
  // Unix time began on a Thursday. Weeks begin on Monday.
  weekly: (at: number) => String(Math.floor((at / day + 3) / 7)),
  monthly: (at: number) => isoOf(at).slice(0, 7),
  yearly: (at: number) => isoOf(at).slice(0, 4),
};

const isoOf = (at: number) => new Date(at).toISOString();

type Period = keyof typeof periods;

/** Keeps the newest backup of each of the last `count` periods that have one. */
export type KeepRule = Readonly<{ count: number; period: Period }>;

const words = Object.keys(periods) as Period[];

export const keepExpected = "must be rules such as 24 hourly, 30 daily, 12 monthly, with latest, weekly and yearly too";

/** Parses rules that are separated by commas. Undefined if invalid. */
export function readKeepRules(text: string): KeepRule[] | undefined {
  const rules = text.split(",").map((rule): KeepRule | undefined => {
    const [, count, word] = /^([1-9]\d{0,5}) ([a-z]+)$/.exec(rule.trim()) ?? [];
    const period = words.find((each) => each === word);
    return period && { count: Number(count), period };
  });
  const isDistinct = new Set(rules.map((rule) => rule?.period)).size === rules.length;
  return isDistinct && rules.every((rule) => rule !== undefined) ? rules : undefined;
}

/** Reason why a backup is kept: the word of a rule, or `future` for a time that has not come yet. */
export type KeptBy = Period | "future";

/**
 * Finds the rules that keep the backup of each time, in Unix ms. A backup without a rule may be removed, and the newest
 * is always kept. A backup that is newer than `now` comes from a wrong clock: it is kept, and no rule counts it.
 */
export function findKept(times: readonly number[], rules: readonly KeepRule[], now: number): Map<number, KeptBy[]> {
  const newestFirst = [...new Set(times)].sort((a, b) => b - a);
  const kept = new Map(newestFirst.map((at): [number, KeptBy[]] => [at, at > now ? ["future"] : []]));
  const past = newestFirst.filter((at) => at <= now);
  for (const { count, period } of rules) {
    const newestOf = new Map<string, number>();
    for (const at of past) {
      const name = periods[period](at);
      if (!newestOf.has(name)) newestOf.set(name, at);
    }
    for (const at of [...newestOf.values()].slice(0, count)) kept.get(at)!.push(period);
  }
  return kept;
}
