// Charts as SVG, made on the server, that need no script. Panels of measures share the same labels, one below the
// other. Each label has a link across them: while it is hovered or focused, the panels show its values instead of their
// totals. There are few elements and attributes, because a page must stay light.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { scaleBand, scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { groupBy } from "../../support/group-by.ts";
import { Fragment, h } from "./html.ts";
import type { Html, Part } from "./html.ts";

// In CSS, 792 is where panels end.
const width = 800, left = 64, right = 8;
const head = 28, gap = 12, foot = 26;
const heights = { alone: 150, among: 84 };

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A series: its name, and a value for each label, of a line also with its interval. */
type Series = { name: string; values: readonly (number | null)[]; ranges?: readonly Range[]; isBad?: true };
type Range = readonly [low: number, high: number] | null;

/** One measure. Bars of a second series are stacked on the first and hatched. A second line is dashed. */
export type Panel = {
  title: string;
  /** Unit of the values: `requests`. */
  unit: string;
  kind: "bars" | "lines";
  series: readonly Series[];
  /** Writes a value at the axis. */
  format?: ((value: number) => string) | undefined;
  /** Text for all labels together, and for each. */
  total: string;
  readouts: readonly string[];
};

/** A chart's contents. */
export type Chart = {
  title: string;
  labels: readonly string[];
  panels: readonly Panel[];
  /** Links to the records of each label; undefined without any. */
  hrefs: readonly (string | undefined)[];
  /** Moments to point out, by the index of their label. */
  marks?: readonly { at: number; label: string }[];
};

export function drawChart(chart: Chart): Html {
  const { title, labels, panels, hrefs } = chart;
  const x = scaleBand<string>().domain(labels).range([left, width - right]).paddingInner(0.3).paddingOuter(0.15);
  const centers = labels.map((label) => round(x(label)! + x.bandwidth() / 2));
  const height = panels.length === 1 ? heights.alone : heights.among;
  const placed = panels.map((panel, nth) => ({ ...panel, top: nth * (head + height + gap) + head, height }));
  const bottom = placed.at(-1)!.top + height;
  return (
    <div class="chart">
      <svg viewBox={`0 0 ${width} ${bottom + foot}`} role="group" aria-label={title}>
        <g>{placed.map(headOf)}</g>
        <g aria-hidden="true">
          {placed.map((panel) => drawPanel(panel, centers, x.bandwidth()))}
          {marksOf(chart, centers, bottom)}
          {axisOf(labels, centers, bottom)}
        </g>
        <g class="points" stroke-width={round(x.step())}>
          {labels.map((label, index) =>
            hrefs[index] !== undefined && (
              <a href={hrefs[index]}>
                <path d={`M${centers[index]} 0V${bottom}`} />
                {placed.map(({ top, readouts }, nth) => (
                  <text y={top - 11}>{nth === 0 && `${shortOf(label)}: `}{readouts[index]}</text>
                ))}
              </a>
            )
          )}
        </g>
        <g class="totals">{placed.map(({ top, total }) => <text y={top - 11}>{total}</text>)}</g>
      </svg>
    </div>
  );
}

// Distinguishes two series without colours.
const signs = { bars: ["■", "▤"], lines: ["—", "╌"] } as const;

/** The number of a style: of the first series, of the second, and of one that counts what is bad. */
const styleOf = ({ isBad }: Series, nth: number): 1 | 2 | 3 => isBad ? 3 : nth === 0 ? 1 : 2;

const round = (value: number) => Math.round(value * 10) / 10;

type Placed = Panel & { top: number; height: number };

/** The title of a panel and its legend. */
const headOf = ({ title, kind, series, top }: Placed): Html => (
  <text y={top - 11}>
    <tspan class="title">{title}</tspan>
    {series.length > 1 &&
      series.map((each, nth) => (
        <tspan class={`ink-${styleOf(each, nth)}`}>{`\u2003${signs[kind][nth]} ${each.name}`}</tspan>
      ))}
  </text>
);

function drawPanel(panel: Placed, centers: readonly number[], thickness: number): Part {
  const y = heightOf(panel, panel.kind === "bars" ? sumsOf(panel) : panel.series.flatMap(reachOf));
  return [gridOf(y, panel), panel.kind === "bars" ? barsOf(panel, centers, thickness, y) : linesOf(panel, centers, y)];
}

const sumsOf = ({ series }: Panel): number[] =>
  series[0]!.values.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));

const reachOf = (
  { values, ranges = [] }: Series,
): (number | null)[] => [...values, ...ranges.flatMap((range) => range ?? [])];

// Within these d3 makes exact ticks. Values may be anything that a client sent, and their sum may be Infinity.
const leastTop = 1e-30, mostTop = 1e300;

function heightOf({ top, height }: Placed, values: readonly (number | null)[]) {
  const all = values.map((value) => value ?? 0), max = Math.max(...all, 0), min = Math.min(...all, 0);
  return scaleLinear().domain([min, max < leastTop && min === 0 ? 1 : Math.min(max, mostTop)]).nice(ticks).range([
    top + height,
    top,
  ])
    .clamp(true);
}
type Heights = ReturnType<typeof heightOf>;

const ticks = 3;
const mostWritten = 1e15;

function gridOf(y: Heights, panel: Panel): Part {
  const { format = (value: number) => value < mostWritten ? compact.format(value) : value.toExponential() } = panel;
  const marks = y.ticks(ticks);
  return (
    <>
      {marks.map((tick) => <path class="grid" d={`M${left} ${round(y(tick))}H${width - right}`} />)}
      <g class="ticks" text-anchor="end">
        {marks.map((tick) => <text x={left - 8} y={round(y(tick)) + 4}>{format(tick)}</text>)}
      </g>
    </>
  );
}

/** A path of thick lines for each series, which is far shorter than as many rectangles. */
function barsOf({ series }: Panel, centers: readonly number[], thickness: number, y: Heights): Part {
  const bases = centers.map(() => 0);
  return series.map((each, nth) => {
    const path = centers.map((center, index) => {
      const base = bases[index]!, value = each.values[index] ?? 0;
      bases[index] = base + value;
      return value === 0 ? "" : `M${center} ${round(y(base))}V${round(y(base + value))}`;
    });
    return (
      <path
        class={nth === 0 ? `ink-${styleOf(each, nth)}` : `ink-${styleOf(each, nth)} hatched`}
        stroke-width={round(thickness)}
        d={path.join("")}
      />
    );
  });
}

/** A line for each series. A value that is missing interrupts it, and one without neighbours is a point. */
function linesOf({ series }: Panel, centers: readonly number[], y: Heights): Part {
  const path = line<number | null>((_, index) => centers[index]!, (value) => y(value ?? 0))
    .defined((value) => value !== null)
    .digits(1);
  return series.map((each, nth) => {
    const { values, ranges = [] } = each, style = styleOf(each, nth);
    const bars = ranges.map((range, index) =>
      range && `M${centers[index]} ${range.map((end) => round(y(end))).join("V")}`
    );
    return [
      ranges.length > 0 && <path class={`ink-${style}`} d={bars.join("")} />,
      <path class={nth === 0 ? `line ink-${style}` : `line ink-${style} dashed`} d={path(values) ?? ""} />,
      values.map((value, index) =>
        value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null && (
          <circle class={`ink-${style}`} cx={centers[index]} cy={round(y(value))} r="2.5" />
        )
      ),
    ];
  });
}

const labelMargin = 30, letterWidth = 8, halfLabel = 30, markLetterWidth = 10;

/** The axis has as many labels as fit. */
function axisOf(labels: readonly string[], centers: readonly number[], bottom: number): Part {
  const texts = labels.map(shortOf), longest = Math.max(...texts.map(({ length }) => length), 0);
  const every = Math.ceil(labels.length * (labelMargin + letterWidth * longest) / width), y = bottom + 18;
  const label = (text: string, center: number) =>
    center > width - halfLabel
      ? <text x={width} y={y} text-anchor="end">{text}</text>
      : <text x={center} y={y} text-anchor="middle">{text}</text>;
  return (
    <>
      <path class="axis" d={`M${left} ${bottom}H${width - right}`} />
      <g class="labels">{texts.map((text, index) => index % every === 0 && label(text, centers[index]!))}</g>
    </>
  );
}

/** `2026-11-15` as `15 Nov`, also with an hour after it. */
function shortOf(label: string): string {
  const [, year, month, day, hour] = /^(\d{4})-(\d\d)-(\d\d)( \d\d:\d\d)?$/.exec(label) ?? [];
  if (day === undefined) return label;
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day));
  return shortDay.format(at) + (hour ?? "");
}

const shortDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** A line for each point with marks. It is named after the last mark, as far as the names of two lines do not meet. */
function marksOf({ marks = [] }: Chart, centers: readonly number[], bottom: number): Part {
  let free = Infinity;
  return [...groupBy(marks, ({ at }) => at)].sort(([a], [b]) => b - a).map(([at, all]) => {
    const place = centers[at]!;
    const text = all.length === 1 ? all[0]!.label : `${all.at(-1)!.label} (${all.length})`;
    const length = 4 + markLetterWidth * text.length, isBefore = place + length > width;
    const hasRoom = isBefore ? place < free : place + length < free;
    if (hasRoom) free = isBefore ? place - length : place;
    return [
      <path class="mark" d={`M${place} ${head}V${bottom}`} />,
      hasRoom && (
        <text class="mark-label" x={isBefore ? place - 4 : place + 4} y={head + 8} text-anchor={isBefore && "end"}>
          {text}
        </text>
      ),
    ];
  });
}

const sparkStep = 6, sparkHeight = 22;

/** Small bars without an axis, of which a part is bad. Its text is for hover and screen readers. */
export function Spark({ values, bad, text }: { values: number[]; bad: number[]; text: string }): Html {
  const y = scaleLinear().domain([0, Math.max(...values, 1)]).range([sparkHeight, 0]);
  const barsOf = (read: (index: number) => [from: number, to: number]) =>
    values.map((_, index) => {
      const [from, to] = read(index);
      return from === to ? "" : `M${sparkStep * (index + 0.5)} ${round(y(from))}V${round(y(to))}`;
    }).join("");
  return (
    <svg class="spark" viewBox={`0 0 ${sparkStep * values.length} ${sparkHeight}`} role="img">
      <title>{text}</title>
      <path class="ink-1" d={barsOf((index) => [bad[index]!, values[index]!])} />
      <path class="ink-3" d={barsOf((index) => [0, bad[index]!])} />
    </svg>
  );
}

type BarProps = { label?: string; x?: number; width: number; style?: 1 | 3 };

/** A bar of which a part is filled, in percent. Without a label it only repeats a text beside it. */
export const Bar = ({ label, x, width, style = 1 }: BarProps): Html => (
  <svg
    {...{ class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none" }}
    {...label === undefined ? { "aria-hidden": "true" } : { role: "img", "aria-label": label }}
  >
    <rect class="rest" width="100" height="4" />
    <rect class={`ink-${style}`} x={x?.toFixed(2)} width={width.toFixed(2)} height="4" />
  </svg>
);

/** A bar for a part of a whole, of which nearly all should not be used. */
export function ShareBar({ part, whole, label }: { part: number; whole: number; label: string }): Html {
  const share = whole === 0 ? 1 : Math.min(part / whole, 1);
  return <Bar label={`${(100 * share).toFixed(1)} % ${label}`} width={100 * share} style={share >= 0.9 ? 3 : 1} />;
}
