// When the quota of a month will be used up, if requests go on as in the last days.
import { endOfMonth, startOfMonth } from "../common/month.ts";
import type { DayUsage } from "../schema/ledger.ts";

const day = 86_400_000; // ms
const window = 7 * day;

/** `perDay` is how many requests a day has lately. `usedUpAt` is undefined if the quota lasts until the month ends. */
type Forecast = { perDay: number; byEnd: number; usedUpAt: number | undefined };

/**
 * Takes the mean of the last seven days of the month, or of all that have passed since the workspace was created. Undefined
 * in the first hour, or without any request in that time.
 */
export function forecast(
  { month, limit, used, days }: { month: string; limit: number; used: number; days: readonly DayUsage[] },
  createdAt: number,
  now: number,
): Forecast | undefined {
  const startOfWindow = Math.floor((now - window) / day) * day;
  const since = Math.max(startOfMonth(month), startOfWindow, createdAt);
  const firstDay = new Date(since).toISOString().slice(0, 10);
  if (now - since < day / 24) return undefined;
  const recent = days.filter(({ day }) => day >= firstDay).reduce(
    (sum, { reads, submits }) => sum + reads + submits,
    0,
  );
  if (recent === 0) return undefined;
  const rate = recent / (now - since);
  const end = endOfMonth(month);
  const usedUpAt = used >= limit ? now : now + (limit - used) / rate;
  return {
    perDay: Math.round(rate * day),
    byEnd: Math.round(used + rate * (end - now)),
    usedUpAt: usedUpAt < end ? usedUpAt : undefined,
  };
}
