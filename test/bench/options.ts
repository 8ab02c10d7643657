// The options of `npm run bench`: scenarios, runtimes, stores and load.
import { parseArgs } from "node:util";
import type { Runtime } from "../runtimes.ts";

const runtimes = ["Node", "Bun", "Deno"] as const satisfies Runtime[];
const stores = ["file", "sqld"] as const;
const scenarios = [
  "throughput",
  "lone",
  "log",
  "spread",
  "flood",
  "references",
  "batches",
  "soak",
  "growth",
  "records",
  "deletion",
  "client",
  "embedded",
  "looking",
  "console",
  "insight",
  "feedback",
  "weight",
  "backup",
  "bounds",
] as const;

export type StoreKind = (typeof stores)[number];
export type ScenarioName = (typeof scenarios)[number];

export type Options = {
  scenarios: ScenarioName[];
  runtimes: Runtime[];
  stores: StoreKind[];
  /** Of one measured load. */
  seconds: number;
  connections: number;
  /** Of `soak`, on each runtime. */
  minutes: number;
  /** Numbers of records, in rising order. `records`, `deletion`, `looking`, `console`, `insight`, `feedback` and `backup` use the last. */
  sizes: number[];
  json: boolean;
};

/** Reads the options. Throws an error with a one-line message if one is unknown or invalid. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      scenario: { type: "string", multiple: true, default: ["throughput"] },
      runtime: { type: "string", multiple: true, default: [...runtimes] },
      store: { type: "string", multiple: true, default: [...stores] },
      seconds: { type: "string", default: "5" },
      connections: { type: "string", default: "64" },
      minutes: { type: "string", default: "10" },
      sizes: { type: "string", default: "0,100000,1000000,5000000" },
      json: { type: "boolean", default: false },
    },
  });
  return {
    scenarios: choices("scenario", values.scenario, scenarios),
    runtimes: choices("runtime", values.runtime, runtimes),
    stores: choices("store", values.store, stores),
    seconds: integer("seconds", values.seconds, 1),
    connections: integer("connections", values.connections, 1),
    minutes: integer("minutes", values.minutes, 1),
    sizes: values.sizes.split(",").map((size) => integer("sizes", size, 0)).sort((a, b) => a - b),
    json: values.json,
  };
}

function choices<T extends string>(name: string, values: readonly string[], known: readonly T[]): T[] {
  return [...new Set(values)].map((value) => {
    const choice = known.find((candidate) => candidate === value);
    if (choice === undefined) throw new Error(`--${name} must be one of ${known.join(", ")}, not "${value}"`);
    return choice;
  });
}

function integer(name: string, text: string, least: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= least) return value;
  throw new Error(`--${name} takes ${name === "sizes" ? "integers" : "an integer"} from ${least} on, not "${text}"`);
}
