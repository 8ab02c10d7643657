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

/** Reads arguments; what does not fit the usage is refused. `--json` and `--help` fit every command. */
export function readArguments(usage: string, argv: string[]): Arguments {
  const parameters = readUsage(usage);
  const { values, positionals } = parse(argv, parameters.filter(({ isOption }) => isOption));
  const expected = parameters.filter(({ isOption }) => !isOption);
  if (positionals.length > expected.length) throw invalid(`Unexpected argument ${positionals[expected.length]}`);

  const texts = new Map<string, string>();
  const numbers = new Map<string, number>();
  for (const parameter of parameters) {
    const { name, placeholder, isOption, isRequired } = parameter;
    const text = isOption ? values[name] : positionals[expected.indexOf(parameter)];
    if (typeof text !== "string") {
      if (isRequired) throw invalid(`Missing ${isOption ? `--${name} ${placeholder}` : name}`);
      continue;
    }
    const value = convert(isOption ? `--${name}` : name, placeholder, text);
    if (typeof value === "string") texts.set(name, value);
    else numbers.set(name, value);
  }
  return {
    text: (name) => texts.get(name)!,
    findText: (name) => texts.get(name),
    number: (name) => numbers.get(name)!,
    findNumber: (name) => numbers.get(name),
  };
}

function parse(argv: string[], options: Parameter[]) {
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        json: { type: "boolean" },
        help: { type: "boolean" },
        ...Object.fromEntries(options.map(({ name }) => [name, { type: "string" }] as const)),
      },
    });
    return { values: values as Record<string, string | boolean | undefined>, positionals };
  } catch (error) {
    // The first sentence says what is wrong; the others guess at what was meant.
    throw invalid(error instanceof Error ? error.message.split(/\. |\n/)[0]! : String(error));
  }
}

/** A placeholder tells a value's type: N is a count, CODE any integer, TIME a moment, YYYY-MM a month; others are text. */
function convert(name: string, placeholder: string, text: string): string | number {
  if (placeholder === "N" || placeholder === "CODE") {
    const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
    if (Number.isSafeInteger(value) && (value >= 0 || placeholder === "CODE")) return value;
    throw invalid(`${name} must be ${placeholder === "N" ? "an integer of at least 0" : "an integer"}`);
  }
  if (placeholder === "ISO8601") {
    // A time without a zone would mean another moment on another machine.
    const isZoned = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
    const value = isZoned ? Date.parse(text) : NaN;
    if (value >= 0) return value;
    throw invalid(`${name} must be a time such as 2027-01-31 or 2027-01-31T18:00:00Z`);
  }
  if (placeholder === "YYYY-MM" && !isMonth(text)) throw invalid(`${name} must be a month such as 2027-01`);
  return text;
}
