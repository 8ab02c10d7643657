// The exact numbers of a chart, as a table.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { h } from "../html.ts";
import type { Html } from "../html.ts";
import type { Chart } from "./chart.tsx";

/** The exact numbers of a chart. */
export function numbersTable({ title, labels, panels }: Chart): Html {
  const columns = panels.flatMap(({ series, unit }) =>
    series.flatMap(({ name, values, ranges }) => [
      { name: `${name} (${unit})`, values },
      ...ranges
        ? ["from", "to"].map((end, nth) => ({ name: `${name}, ${end}`, values: ranges.map((range) => range?.[nth]) }))
        : [],
    ])
  );
  return (
    <div class="scroll" role="region" aria-label={`Table: ${title}`} tabindex="0">
      <table class="series">
        <caption class="hide">{title}</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            {columns.map(({ name }) => <th scope="col">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {labels.map((label, index) => (
            <tr>
              <th scope="row">{label}</th>
              {columns.map(({ values }) => <td>{exactly(values[index])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const exactly = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : value.toLocaleString("en", { maximumSignificantDigits: 17 });
