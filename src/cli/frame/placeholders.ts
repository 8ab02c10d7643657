// The placeholders of usage lines. Each has a type of value, and any other value is bad usage.
import { invalid } from "../../common/errors.ts";
import { numberPattern } from "../../common/json-text.ts";
import { isMonth } from "../../common/month.ts";

const day = 86_400_000; // ms
const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: day };
const maxDuration = 3660 * day; // the limit of the service

/** A type of value, and how to read its text; undefined if invalid. `choices` has all values, if there are few. */
type Kind = { expected: string; read(text: string): string | number | undefined; choices?: string[] };

const choiceOf = (choices: string[]): Kind => ({
  expected: `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`,
  read: (text) => choices.find((choice) => choice === text),
  choices,
});

const time = "a time such as 2027-01-31T18:00 (in UTC unless it has a zone) or 2027-01-31 (its start)";

const kinds: Record<string, Kind> = {
  WORKSPACE: { expected: "the id or the name of a workspace", read: (text) => text.trim() === "" ? undefined : text },
  N: { expected: "an integer from 1 to 2^53 - 1", read: (text) => readInteger(text, 1) },
  NUMBER: { expected: "a number such as 0.5", read: readNumber },
  PERCENT: { expected: "a number such as 12.5, without %", read: readNumber },
  PERCENTS: {
    expected: "percents from 1 to 1000 such as 50,80,100",
    read: (text) => /^\d{1,4}(,\d{1,4})*$/.test(text) ? text : undefined,
  },
  REQUESTS: { expected: "an integer from 0 to 2^53 - 1", read: (text) => readInteger(text, 0) },
  APPROVALS: {
    expected: "0 or 1",
    read: (text) => /^[01]$/.test(text) ? Number(text) : undefined,
    choices: ["0", "1"],
  },
  TOKENS: { expected: "an integer from 0 to 2^53 - 1", read: (text) => readInteger(text, 0) },
  USD: {
    expected: "an amount of USD such as 0.15",
    read: (text) => text === "" || /^\d+(\.\d+)?$/.test(text) ? text : undefined,
  },
  LATENCY: { expected: "a time such as 800ms or 2s", read: readLatency },
  CODE: { expected: "an integer from -(2^53 - 1) to 2^53 - 1", read: (text) => readInteger(text, -Infinity) },
  TIME: {
    expected: `${time}, or 24h for a day ago`,
    read: (text) => readTime(text) ?? fromNow(readUnits(text), -1),
  },
  EXPIRY: {
    expected: `${time}, or 90d from now`,
    read: (text) => readTime(text) ?? fromNow(readDuration(text, 0), 1),
  },
  DURATION: {
    expected: `a duration such as 45s, 30m, 12h or 90d, at most ${maxDuration / day}d`,
    read: (text) => readDuration(text, 0),
  },
  WINDOW: { expected: "between 5m and 1d, such as 15m or 2h", read: readWindow },
  AGE: { expected: `between 1d and ${maxDuration / day}d`, read: (text) => readDuration(text, day) },
  RETENTION: {
    expected: `between 1d and ${maxDuration / day}d, or forever`,
    read: (text) => text === "forever" ? "" : readDuration(text, day),
  },
  SHELL: choiceOf(["bash", "zsh", "fish"]),
  "YYYY-MM": { expected: "a month such as 2027-01", read: (text) => isMonth(text) ? text : undefined },
  "CODE=NAME": {
    expected: "a status and its name, as in 1=ok, or 0=failed! if it counts as a failure",
    read: (text) => text === "" || /^-?\d+=./.test(text) ? text : undefined,
  },
  "PATH=VALUE": {
    expected: "a path of additional_properties and a value, as in trace_id=4bf92f35",
    read: (text) => /^[^=]+=/.test(text) ? text : undefined,
  },
  CONDITION: {
    expected: "a name, one of = != < <= > >= and a value, as in thumb=false or correctness<0.5",
    read: (text) => /^[^!=<>\s]+ *([!<>]=|[=<>])./.test(text) ? text : undefined,
  },
  TIER: {
    expected: "values such as above=200000 input=4 output=12, or with hours=01:00-04:00",
    read: (text) => text === "" || /^[a-z-]+=\S+(\s+[a-z-]+=\S+)*$/.test(text.trim()) ? text : undefined,
  },
  "NAME=VALUE": {
    expected: "a name and a value, as in shop=Acme",
    read: (text) => /^[^=]+=/.test(text) ? text : undefined,
  },
};

/** Type of a value, for help. Undefined if any text is valid, or if the placeholder lists the values. */
export const describeValue = (placeholder: string): string | undefined => kinds[placeholder]?.expected;

/** Values of a choice: of `read|submit`, or of a placeholder with few values. Otherwise empty. */
export const choicesOf = (placeholder: string): string[] => kindOf(placeholder)?.choices ?? [];

/** Unknown placeholders accept any text. */
const kindOf = (placeholder: string): Kind | undefined =>
  placeholder.includes("|") ? choiceOf(placeholder.split("|")) : kinds[placeholder];

/** Separator of a repeated option's values. A value at a path may have commas, and so may a label of feedback. */
export const separatorOf = (placeholder: string): string =>
  placeholder === "PATH=VALUE" || placeholder === "CONDITION" ? "\n" : ",";

/** The value of an argument: times in Unix ms, durations in ms. */
export function convert(label: string, placeholder: string, text: string): string | number {
  const kind = kindOf(placeholder);
  if (kind === undefined) return text;
  const value = kind.read(text);
  if (value === undefined) throw invalid(`${label} must be ${kind.expected}`);
  return value;
}

/** A number as JSON has it, which may be too large for one. */
export function readNumber(text: string): number | undefined {
  return new RegExp(`^${numberPattern}$`).test(text) ? Number(text) : undefined;
}

function readInteger(text: string, min: number): number | undefined {
  const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(value) && value >= min ? value : undefined;
}

const timePattern = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** A time without a zone is in UTC, as a day is, because otherwise it would depend on the machine. */
function readTime(text: string): number | undefined {
  const [, day, zone] = timePattern.exec(text) ?? [];
  const at = Date.parse(text.includes("T") && zone === undefined ? `${text}Z` : text);
  // Date.parse accepts 2027-02-30 as a day in March.
  return day !== undefined && at >= 0 && new Date(day).toISOString().startsWith(day) ? at : undefined;
}

function readDuration(text: string, min: number): number | undefined {
  const duration = readUnits(text);
  return duration !== undefined && duration >= min && duration <= maxDuration ? duration : undefined;
}

function readWindow(text: string): number | undefined {
  const window = readDuration(text, 5 * 60_000);
  return window !== undefined && window <= day ? window : undefined;
}

function readUnits(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * units[unit]!;
}

function readLatency(text: string): number | undefined {
  const [, ms] = /^(\d{1,9})ms$/.exec(text) ?? [];
  return ms === undefined ? readDuration(text, 0) : Number(ms);
}

const fromNow = (duration: number | undefined, sign: 1 | -1): number | undefined =>
  duration === undefined ? undefined : Math.max(0, Date.now() + sign * duration);
