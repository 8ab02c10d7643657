// Arguments of a command, read as its usage line says: the line is the one declaration of what a command takes.
import { invalid } from "../errors.ts";
import { isMonth } from "../month.ts";
import { parseArgs } from "../runtime/terminal.ts";

/** What was given, by name: an option by its own (`limit`), a positional argument by its placeholder (`ID`). */
export type Arguments = {
  /** A required text. */
  text(name: string): string;
  findText(name: string): string | undefined;
  /** A required number. */
  number(name: string): number;
  findNumber(name: string): number | undefined;
  /** Whether JSON is wanted. */
  json: boolean;
};

type Parameter = { name: string; placeholder: string; isOption: boolean; isRequired: boolean };

/** `deploy list --workspace ID [--limit N]` → its parameters. */
function readUsage(usage: string): Parameter[] {
  const pattern = /(\[)?(?:--([a-z-]+) )?\b([A-Z][A-Z0-9-]*)\b\]?/g;
  return [...usage.matchAll(pattern)].map(([, bracket, option, placeholder = ""]) => ({
    name: option ?? placeholder,
    placeholder,
    isOption: option !== undefined,
    isRequired: bracket === undefined,
  }));
}

/** Reads arguments; what does not fit the usage is refused. `--json` fits every command. */
export function readArguments(usage: string, argv: string[]): Arguments {
  const parameters = readUsage(usage);
  const { values, positionals } = parse(argv, parameters.filter(({ isOption }) => isOption));
  const expected = parameters.filter(({ isOption }) => !isOption);
  if (positionals.length > expected.length) throw invalid(`Unexpected argument ${positionals[expected.length]}`);

  const given = new Map<string, string | number>();
  for (const parameter of parameters) {
    const { name, placeholder, isOption, isRequired } = parameter;
    const label = isOption ? `--${name}` : name;
    const texts = isOption ? values[name] ?? [] : positionals.slice(expected.indexOf(parameter)).slice(0, 1);
    if (texts.length > 1) throw invalid(`${label} was given ${texts.length} times`);
    if (texts[0] !== undefined) given.set(name, convert(label, placeholder, texts[0]));
    else if (isRequired) throw invalid(`Missing ${isOption ? `${label} ${placeholder}` : label}`);
  }

  const find = (name: string) => {
    if (!parameters.some((parameter) => parameter.name === name)) {
      throw new TypeError(`No argument ${name} in ${usage}`);
    }
    return given.get(name);
  };
  const asText = (value: string | number | undefined) => value === undefined ? undefined : String(value);
  const asNumber = (value: string | number | undefined) => typeof value === "number" ? value : undefined;
  return {
    text: (name) => asText(find(name)) ?? "",
    findText: (name) => asText(find(name)),
    number: (name) => asNumber(find(name)) ?? NaN,
    findNumber: (name) => asNumber(find(name)),
    json: values.json !== undefined,
  };
}

function parse(argv: string[], options: Parameter[]): { values: Record<string, string[]>; positionals: string[] } {
  const text = { type: "string", multiple: true } as const;
  try {
    const { values, positionals } = parseArgs({
      args: joinNegatives(argv),
      allowPositionals: true,
      options: { ...Object.fromEntries(options.map(({ name }) => [name, text])), json: { type: "boolean" } },
    });
    return {
      values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value].flat().map(String)])),
      positionals,
    };
  } catch (error) {
    // The first sentence says what is wrong; the others guess at what was meant.
    throw invalid(error instanceof Error ? error.message.split(/\. |\n/)[0]! : String(error));
  }
}

/** `--status -1` → `--status=-1`: after an option a negative number is its value, not another option. */
function joinNegatives(argv: string[]): string[] {
  const joined: string[] = [];
  for (const word of argv) {
    const option = joined.at(-1);
    if (/^-\d/.test(word) && option !== undefined && /^--[a-z-]+$/.test(option)) {
      joined.splice(-1, 1, `${option}=${word}`);
    } else joined.push(word);
  }
  return joined;
}

/** A placeholder tells a value's type: N is a count, CODE any integer, ISO8601 a moment in ms, and others are text. */
function convert(label: string, placeholder: string, text: string): string | number {
  if (placeholder === "N" || placeholder === "CODE") {
    const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
    if (Number.isSafeInteger(value) && (value >= 0 || placeholder === "CODE")) return value;
    throw invalid(
      `${label} must be ${placeholder === "N" ? "an integer of at least 0" : "an integer"}, and at most 2^53 - 1`,
    );
  }
  if (placeholder === "ISO8601") return readTime(label, text);
  if (placeholder === "YYYY-MM" && !isMonth(text)) throw invalid(`${label} must be a month such as 2027-01`);
  return text;
}

function readTime(label: string, text: string): number {
  // A time without a zone would mean another moment on another machine.
  const [, day] = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.exec(text) ?? [];
  const at = Date.parse(text);
  // Date.parse takes 2027-02-30 for a day in March.
  const isDay = day !== undefined && at >= 0 && new Date(day).toISOString().startsWith(day);
  if (!isDay) throw invalid(`${label} must be a time such as 2027-01-31 or 2027-01-31T18:00:00Z`);
  return at;
}
