// Charts of any numbers.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { drawChart } from "../../src/console/frame/chart.tsx";
import { numbersTable } from "../../src/console/frame/elements.tsx";
import { dollarText } from "../../src/support/dollars.ts";
import { extremes } from "../extremes.ts";

const test = suite("charts of pages");

const value = fc.option(
  fc.oneof(fc.double({ min: 0, noNaN: true }), fc.constantFrom(...extremes.latency, ...extremes.count)),
);
const values = fc.tuple(
  fc.array(value, { minLength: 3, maxLength: 3 }),
  fc.array(value, { minLength: 3, maxLength: 3 }),
);

/** The coordinates of a drawing. */
const coordinatesIn = (html: string): number[] =>
  Array.from(html.matchAll(/(?:\b(?:cx|cy|x|y)="|[MVHL, ])(-?\d[\d.e+]*)/g), ([, number]) => Number(number));

test("any values, up to the greatest number, are drawn inside of the chart, with an axis that can be read", () => {
  fc.assert(
    fc.property(values, fc.constantFrom(undefined, dollarText), (both, format) => {
      const series = both.map((values, nth) => ({ name: `${nth}`, values }));
      const shared = { unit: "u", series, total: "", readouts: ["", "", ""], ...format && { format } };
      const drawing = String(
        drawChart({
          title: "T",
          labels: ["a", "b", "c"],
          hrefs: ["a", undefined, "c"],
          panels: [{ title: "B", kind: "bars", ...shared }, { title: "L", kind: "lines", ...shared }],
        }).html,
      );
      assert.not.match(drawing, /NaN|Infinity|undefined/);
      for (const at of coordinatesIn(drawing)) assert.ok(at >= -5 && at <= 805, `${at} in ${drawing}`);
      for (const [, tick] of drawing.matchAll(/text-anchor="end">([^<]*)</g)) {
        assert.ok(tick!.length <= 32, `${tick} is too long`);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("the table of a chart has each number exactly, down to the least", () => {
  const numbers = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }));
  fc.assert(
    fc.property(numbers, (values) => {
      const panels = [{
        ...{ title: "B", kind: "bars" as const, unit: "u", total: "", readouts: [] },
        series: [{ name: "n", values }],
      }];
      const labels = values.map((_, nth) => `${nth}`);
      const table = numbersTable({ title: "T", labels, hrefs: [], panels }).html;
      const cells = Array.from(table.matchAll(/<td>([^<]*)</g), ([, text]) => Number(text!.replaceAll(",", "")));
      assert.equal(cells, values);
    }),
    { examples: [[[1e-30, 5e-324]]] },
  );
});

test.run();
