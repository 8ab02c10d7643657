// Charts as SVG, made on the server. Each has a name and a legend in words, series that differ by more than their colour, and its
// numbers in a table. There are few elements and attributes, because a page must stay light.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { scaleBand, scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { groupBy } from "../group-by.ts";
import { h } from "../html.ts";
import type { Html, Part } from "../html.ts";

const widths = { whole: 800, half: 540 }, height = 210;
const margin = { top: 14, right: 8, bottom: 24, left: 54 };

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A series: its name, the number of its pattern, and a value for each label. */
type Series = { name: string; style: 1 | 2 | 3; values: readonly (number | null)[] };

/** What a chart shows. */
export type Chart = {
  title: string;
  /** What the values are: `requests`. */
  unit: string;
  labels: readonly string[];
  series: readonly Series[];
  /** Moments to point out, by the index of their label. */
  marks?: readonly { at: number; label: string }[];
  /** Writes a value for people. */
  format?: (value: number) => string;
  /** Charts of half the width stand beside each other, above one table of all their numbers. */
  size?: keyof typeof widths;
};

/** Bars that stand on each other, one for each label. */
export function barChart(chart: Chart): Html {
  const { labels, series } = chart;
  const totals = labels.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const x = bandOf(chart), y = heightOf(Math.max(...totals, 0));
  const bases = labels.map(() => 0);
  // A path of thick lines is far shorter than as many rectangles.
  const bars = series.map(({ style, values }) => {
    const path = labels.map((label, index) => {
      const base = bases[index]!, value = values[index] ?? 0;
      bases[index] = base + value;
      return value === 0 ? "" : `M${round(x(label)! + x.bandwidth() / 2)} ${round(y(base))}V${round(y(base + value))}`;
    });
    return <path class={`bar-${style}`} stroke-width={round(x.bandwidth())} d={path.join("")} />;
  });
  return figureOf(
    chart,
    [gridOf(y, chart), bars, marksOf(chart, x), axisOf(chart, x)],
    (style) => <path class={`bar-${style}`} stroke-width="22" d="M11 14V0" />,
  );
}

/** Lines through the values of each label. A value that is missing interrupts its line. */
export function lineChart(chart: Chart): Html {
  const { labels, series } = chart;
  const x = bandOf(chart),
    y = heightOf(Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)), 0));
  const center = (index: number) => x(labels[index]!)! + x.bandwidth() / 2;
  const path = line<number | null>((_, index) => center(index), (value) => y(value ?? 0)).defined((value) =>
    value !== null
  )
    .digits(1);
  const lines = series.map(({ style, values }) => <path class={`stroke-${style}`} d={path(values) ?? ""} />);
  const alone = series.map(({ style, values }) =>
    values.map((value, index) =>
      value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null && (
        <circle class={`fill-${style}`} cx={round(center(index))} cy={round(y(value))} r="2.5" />
      )
    )
  );
  return figureOf(
    chart,
    [gridOf(y, chart), lines, alone, marksOf(chart, x), axisOf(chart, x)],
    (style) => <path class={`stroke-${style}`} d="M0 7H22" />,
  );
}

const round = (value: number) => Math.round(value * 10) / 10;

const widthOf = ({ size = "whole" }: Chart): number => widths[size];

const bandOf = (chart: Chart) =>
  scaleBand<string>().domain(chart.labels).range([margin.left, widthOf(chart) - margin.right]).paddingInner(0.3)
    .paddingOuter(0.15);
type Band = ReturnType<typeof bandOf>;

// Within these d3 makes exact ticks. Values may be anything that a client sent, and their sum may be Infinity.
const leastTop = 1e-30, mostTop = 1e300;

const heightOf = (max: number) =>
  scaleLinear().domain([0, max < leastTop ? 1 : Math.min(max, mostTop)]).nice(4)
    .range([height - margin.bottom, margin.top]).clamp(true);

const mostWritten = 1e15;

function gridOf(y: ReturnType<typeof heightOf>, chart: Chart): Part {
  const { format = (value: number) => value < mostWritten ? compact.format(value) : value.toExponential() } = chart;
  const end = widthOf(chart) - margin.right;
  return y.ticks(4).map((tick) => [
    <path class="grid" d={`M${margin.left} ${round(y(tick))}H${end}`} />,
    <text x={margin.left - 8} y={round(y(tick)) + 4} text-anchor="end">{format(tick)}</text>,
  ]);
}

const labelMargin = 30, letterWidth = 8, halfLabel = 30, markLetterWidth = 10;

/** The axis has as many labels as fit. */
function axisOf(chart: Chart, x: Band): Part {
  const { labels } = chart;
  const texts = labels.map(shortOf), longest = Math.max(...texts.map(({ length }) => length), 0);
  const every = Math.ceil(labels.length * (labelMargin + letterWidth * longest) / widthOf(chart));
  const y = height - margin.bottom, end = widthOf(chart);
  const label = (text: string, center: number) =>
    center > end - halfLabel
      ? <text x={end} y={y + 17} text-anchor="end">{text}</text>
      : <text x={center} y={y + 17} text-anchor="middle">{text}</text>;
  return [
    <path class="axis" d={`M${margin.left} ${y}H${end - margin.right}`} />,
    ...texts.map((text, index) => index % every === 0 && label(text, round(x(labels[index]!)! + x.bandwidth() / 2))),
  ];
}

/** `2026-11-15` as `15 Nov`, also with an hour after it. */
function shortOf(label: string): string {
  const [, year, month, day, hour] = /^(\d{4})-(\d\d)-(\d\d)( \d\d:\d\d)?$/.exec(label) ?? [];
  if (day === undefined) return label;
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const text = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }).format(at);
  return text + (hour ?? "");
}

/** A line for each point with marks. It is named after the last mark, as far as the names of two lines do not meet. */
function marksOf(chart: Chart, x: Band): Part {
  const { marks = [], labels } = chart;
  let free = Infinity;
  return [...groupBy(marks, ({ at }) => at)].sort(([a], [b]) => b - a).map(([at, all]) => {
    const place = round(x(labels[at]!)! + x.bandwidth() / 2);
    const text = all.length === 1 ? all[0]!.label : `${all.at(-1)!.label} (${all.length})`;
    const length = 4 + markLetterWidth * text.length, isBefore = place + length > widthOf(chart);
    const hasRoom = isBefore ? place < free : place + length < free;
    if (hasRoom) free = isBefore ? place - length : place;
    return [
      <path class="mark" d={`M${place} ${margin.top}V${height - margin.bottom}`} />,
      hasRoom && (
        <text
          class="mark-label"
          x={isBefore ? place - 4 : place + 4}
          y={margin.top + 8}
          text-anchor={isBefore && "end"}
        >
          {text}
        </text>
      ),
    ];
  });
}

function figureOf(chart: Chart, drawing: Part, sample: (style: 1 | 2 | 3) => Html): Html {
  const { title, series, size = "whole" } = chart;
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {series.length > 1 && (
        <ul class="legend">
          {series.map(({ name, style }) => (
            <li>
              <svg viewBox="0 0 22 14" aria-hidden="true">{sample(style)}</svg>
              {name}
            </li>
          ))}
        </ul>
      )}
      <div class={`plot ${size}`} role="group" aria-label={`Chart: ${title}`} tabindex="0">
        <svg
          viewBox={`0 0 ${widthOf(chart)} ${height}`}
          role="img"
          aria-label={`${title}. The table below has its numbers.`}
        >
          {drawing}
        </svg>
      </div>
      {size !== "half" && numbersTable(title, [chart])}
    </figure>
  );
}

/** The exact numbers of charts with the same labels, as one table to unfold. */
export function numbersTable(title: string, charts: readonly Chart[]): Html {
  const columns = charts.flatMap(({ series, unit }) =>
    series.map(({ name, values }) => ({ name: `${name} (${unit})`, values }))
  );
  return (
    <details>
      <summary>As a table</summary>
      <div class="plot" role="region" aria-label={`Table: ${title}`} tabindex="0">
        <table class="series">
          <caption class="hide">{title}</caption>
          <thead>
            <tr>
              <th scope="col">When</th>
              {columns.map(({ name }) => <th scope="col">{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {charts[0]!.labels.map((label, index) => (
              <tr>
                <th scope="row">{label}</th>
                {columns.map(({ values }) => <td>{exactly(values[index])}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const exactly = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : value.toLocaleString("en", { maximumFractionDigits: 20 });

/** A bar for a part of a whole. */
export function ShareBar({ part, whole, label }: { part: number; whole: number; label: string }): Html {
  const share = whole === 0 ? 1 : Math.min(part / whole, 1);
  const style = share >= 0.9 ? 3 : 1;
  return (
    <svg
      class="bar"
      viewBox="0 0 100 4"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${(100 * share).toFixed(1)} % ${label}`}
    >
      <rect class="fill-rest" width="100" height="4" />
      <rect class={`fill-${style}`} width={round(100 * share)} height="4" />
    </svg>
  );
}
