// Forecast of a month's quota.
import { endOfMonth, startOfMonth } from "../../common/month.ts";

const day = 86_400_000; // ms
const window = 7 * day;

/**
 * `perDay` is the recent number of requests per day. `usedUpAt` is undefined if the quota lasts until the month ends.
 */
export type Forecast = { perDay: number; byEnd: number; usedUpAt: number | undefined };

/**
 * Start of the requests that count for the forecast of a month, in Unix ms: those of the last seven days of the month,
 * or all since the workspace was created.
 */
export const startOfPace = (month: string, createdAt: number, now: number): number =>
  Math.max(startOfMonth(month), Math.floor((now - window) / day) * day, createdAt);

/**
 * Extrapolates the mean pace of the `recent` requests, those since `since`. Undefined in the first hour, or without any
 * request in that time.
 */
export function forecast(
  { month, limit, used, recent }: { month: string; limit: number; used: number; recent: number },
  since: number,
  now: number,
): Forecast | undefined {
  if (now - since < day / 24 || recent === 0) return undefined;
  const rate = recent / (now - since);
  const end = endOfMonth(month);
  const usedUpAt = used >= limit ? now : now + (limit - used) / rate;
  return {
    perDay: Math.round(rate * day),
    byEnd: Math.round(used + rate * (end - now)),
    usedUpAt: usedUpAt < end ? usedUpAt : undefined,
  };
}
