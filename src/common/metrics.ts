// Counters, gauges and histograms, in the text format of Prometheus. The existing client libraries import Node modules,
// which Workers do not have, and do more than a service of one process needs.

/** Counts an event. Label values are in the order of the label names. */
export type Counter = (...values: string[]) => void;

/** Adds an observation to the buckets of its label values. */
export type Histogram = (observed: number, ...values: string[]) => void;

export type Metrics = {
  /** `known` lists values of a single label that start at 0. */
  counter(name: string, help: string, labels?: string[], known?: string[]): Counter;
  /** `bounds` are the upper bounds of the buckets, in ascending order. */
  histogram(name: string, help: string, bounds: number[], labels?: string[]): Histogram;
  /** Reads a value at each scrape. A value that only grows has the type `counter`. */
  gauge(name: string, help: string, read: () => number, type?: "gauge" | "counter"): void;
  /** Reads values by their labels at each scrape. */
  series(name: string, help: string, labels: string[], read: () => [values: string[], value: number][]): void;
  /** Adds work to do before a scrape, such as reading values. */
  beforeText(prepare: () => Promise<void>): void;
  /** Runs the work added by `beforeText`. */
  prepare(): Promise<void>;
  /** All metrics in the text exposition format, version 0.0.4. */
  text(): string;
};

export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Creates an empty set of metrics. */
export function createMetrics(): Metrics {
  const families: (() => string)[] = [];
  const preparations: (() => Promise<void>)[] = [];

  function add(name: string, help: string, type: string, lines: () => string[]): void {
    families.push(() => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines(), ""].join("\n"));
  }

  function counter(name: string, help: string, labels: string[] = [], known: string[] = []): Counter {
    const counts = seriesBy(labels, () => ({ value: 0 }));
    for (const value of known) counts.of([value]);
    add(name, help, "counter", () => counts.list().map(([pairs, { value }]) => line(name, pairs, value)));
    return (...values) => void counts.of(values).value++;
  }

  function histogram(name: string, help: string, bounds: number[], labels: string[] = []): Histogram {
    const buckets = seriesBy(labels, () => ({ counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
    const lines = ([pairs, { counts, sum }]: [string[], { counts: number[]; sum: number }]) => {
      let count = 0;
      const below = counts.map((number, index) =>
        line(`${name}_bucket`, [...pairs, `le="${bounds[index] ?? "+Inf"}"`], count += number)
      );
      return [...below, line(`${name}_sum`, pairs, sum), line(`${name}_count`, pairs, count)];
    };
    add(name, help, "histogram", () => buckets.list().flatMap(lines));
    return (observed, ...values) => {
      const series = buckets.of(values);
      let index = 0;
      while (index < bounds.length && observed > bounds[index]!) index++;
      series.counts[index]!++;
      series.sum += observed;
    };
  }

  return {
    counter,
    histogram,
    gauge: (name, help, read, type = "gauge") => add(name, help, type, () => [line(name, [], read())]),
    series: (name, help, labels, read) =>
      add(name, help, "gauge", () => read().map(([values, value]) => line(name, pairsOf(labels, values), value))),
    beforeText: (prepare) => void preparations.push(prepare),
    prepare: async () => void await Promise.all(preparations.map((prepare) => prepare())),
    text: () => families.map((write) => write()).join(""),
  };
}

/** Keeps one series for each combination of label values seen. Without labels there is one series from the start. */
function seriesBy<T>(labels: string[], create: () => T) {
  const found = new Map<string, [pairs: string[], series: T]>();
  function of(values: string[]): T {
    const name = values.join("\n");
    let known = found.get(name);
    if (known === undefined) found.set(name, known = [pairsOf(labels, values), create()]);
    return known[1];
  }
  if (labels.length === 0) of([]);
  return { of, list: () => [...found.values()] };
}

const pairsOf = (labels: string[], values: string[]): string[] =>
  labels.map((label, index) => `${label}="${escape(values[index]!)}"`);

const escape = (value: string) => value.replace(/[\\"\n]/g, (char) => char === "\n" ? "\\n" : `\\${char}`);

const line = (name: string, pairs: string[], value: number) =>
  `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
