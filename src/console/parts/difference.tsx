// A difference of two figures with its interval.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { dash } from "../format.tsx";
import { Fragment, h } from "../html.ts";
import type { Part } from "../html.ts";

export const signed = (value: number): string =>
  value < 0 ? `−${Math.abs(value).toLocaleString("en")}` : `+${value.toLocaleString("en")}`;
export const points = (value: number): string => `${signed(Number((100 * value).toFixed(1)))} points`;

export type Difference = { difference: number; low: number | null; high: number | null };

/** A difference with its interval. Without one there are too few records to tell it from chance. */
export function differenceOf(found: Difference | null, format: (value: number) => string): Part {
  if (found === null) return dash;
  const { difference, low, high } = found;
  return (
    <>
      <data value={difference}>{format(difference)}</data>
      <p class="hint">
        {low === null || high === null ? "too few records" : (
          <>
            <span>{format(low)}</span> to <span>{format(high)}</span>
          </>
        )}
      </p>
    </>
  );
}
