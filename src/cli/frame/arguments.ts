// Reads the arguments of a command by its parameters.
import { invalid } from "../../common/errors.ts";
import { parseArgs } from "../../runtime/terminal.ts";
import { check } from "../../schema/struct.ts";
import type { Struct } from "../../schema/struct.ts";
import { guess, isRemovable, isWorkspace } from "./parameters.ts";
import type { Parameter } from "./parameters.ts";
import { convert } from "./placeholders.ts";

/** The arguments by name: that of an option (`limit`), or the placeholder of a positional argument (`ID`). */
export type Arguments = {
  /** A required text. `T` is its type: that of an id, or the union of the values of a choice. */
  text<T extends string>(name: string): T;
  findText<T extends string>(name: string): T | undefined;
  /** A required number. */
  number(name: string): number;
  findNumber(name: string): number | undefined;
  /** The values of an option that may be repeated. */
  texts(name: string): string[];
  /** The NAME=VALUE pairs of an option. If a name appears twice, the last value wins. */
  values(name: string): Record<string, string>;
  /** True if an option without a value is set. */
  has(name: string): boolean;
  /** True to print JSON. */
  json: boolean;
  /** Returns a copy with another value of one. */
  with(name: string, value: string): Arguments;
};

/**
 * Parses arguments. Throws if they do not fit the parameters of the command. `defaults` has the values of options that
 * are not given.
 */
export function readArguments(
  parameters: Parameter[],
  argv: string[],
  defaults: Readonly<Record<string, string | undefined>> = {},
): Arguments {
  const { values, positionals } = parse(argv, parameters.filter(({ isOption }) => isOption));
  const expected = parameters.filter(({ isOption }) => !isOption);
  if (positionals.length > expected.length && !expected.at(-1)?.isRepeatable) {
    throw invalid(`Unexpected argument ${positionals[expected.length]}`);
  }

  const given = new Map<string, (string | number)[]>();
  for (const parameter of parameters) {
    const { name, label, placeholder, isOption, isRequired, isRepeatable } = parameter;
    const texts = isOption
      ? values[name] ?? (defaults[name] === undefined ? [] : [defaults[name]])
      : positionals.slice(expected.indexOf(parameter)).slice(0, isRepeatable ? Infinity : 1);
    if (texts.length > 1 && !isRepeatable) throw invalid(`${label} was given ${texts.length} times`);
    if (texts.length === 0 && isRequired) throw invalid(`Missing ${isOption ? `${label} ${placeholder}` : label}`);
    given.set(name, texts.map((text) => read(parameter, text)));
  }
  return toArguments(given);
}

/** Converts the text of an argument. Throws if its placeholder or its member does not accept it. */
function read(parameter: Parameter, text: string): string | number {
  const { label, placeholder, isRepeatable, struct } = parameter;
  if (placeholder === undefined) return text;
  const value = convert(label, placeholder, text);
  if (struct === undefined || isRepeatable || isWorkspace(parameter) || value === "" && isRemovable(parameter)) {
    return value;
  }
  return check(struct as Struct<string | number, unknown>, value, label);
}

/** Gives a command its arguments. A name that is not a parameter of the command is a bug. */
function toArguments(given: ReadonlyMap<string, readonly (string | number)[]>): Arguments {
  const find = (name: string) => {
    const found = given.get(name);
    if (found === undefined) throw new TypeError(`The command has no parameter ${name}`);
    return found;
  };
  const findText = (name: string) => find(name)[0]?.toString();
  const findNumber = (name: string) => find(name).find((value) => typeof value === "number");
  return {
    text: <T extends string>(name: string) => (findText(name) ?? "") as T,
    findText: <T extends string>(name: string) => findText(name) as T | undefined,
    number: (name) => findNumber(name) ?? NaN,
    findNumber,
    texts: (name) => find(name).map(String),
    values: (name) => Object.fromEntries(find(name).map(splitPair)),
    has: (name) => find(name).length > 0,
    with: (name, value) => toArguments(new Map([...given, [name, [value]]])),
    json: find("json").length > 0,
  };
}

function splitPair(pair: string | number): [name: string, value: string] {
  const [, name = "", value = ""] = /^([^=]*)=(.*)$/s.exec(String(pair)) ?? [];
  return [name, value];
}

function parse(argv: string[], options: Parameter[]): { values: Record<string, string[]>; positionals: string[] } {
  const text = { type: "string", multiple: true } as const;
  const flag = { type: "boolean" } as const;
  const { values, positionals, tokens } = parseArgs({
    args: joinValues(argv, options),
    allowPositionals: true,
    strict: false,
    tokens: true,
    options: Object.fromEntries(
      options.map(({ name, placeholder }) => [name, placeholder === undefined ? flag : text]),
    ),
  });
  for (const token of tokens) {
    const fault = token.kind === "option" ? faultOf(token, options) : undefined;
    if (fault !== undefined) throw invalid(fault);
  }
  return {
    values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value].flat().map(String)])),
    positionals,
  };
}

/** True if words are options of these parameters, each with its value if it takes one. */
export function areOptions([word, ...others]: string[], parameters: Parameter[]): boolean {
  if (word === undefined) return true;
  const [label] = word.split("=");
  const option = parameters.find((each) => each.isOption && each.label === label);
  if (option === undefined) return false;
  const hasValue = others[0] !== undefined && (!others[0].startsWith("-") || /^-\d/.test(others[0]));
  if (option.placeholder === undefined || word.includes("=")) return areOptions(others, parameters);
  return hasValue
    ? areOptions(others.slice(1), parameters)
    : option.bareValue !== undefined && areOptions(others, parameters);
}

/** An option as `parseArgs` reads it. */
type Token = { name: string; rawName: string; value: string | undefined; inlineValue: boolean | undefined };

/** Describes an option that the command does not have, or whose value is missing or too much. */
function faultOf({ name, rawName, value, inlineValue }: Token, options: Parameter[]): string | undefined {
  const option = options.find((each) => each.name === name && each.label === rawName);
  if (option === undefined) {
    const near = rawName.startsWith("--") ? guess(rawName, options.map(({ label }) => label)) : "";
    return `Unknown option ${rawName}${near === "" ? "" : `.${near}`}`;
  }
  if (option.placeholder === undefined) {
    return value === undefined ? undefined : `Option '${rawName}' does not take an argument`;
  }
  // An option may come last, or before a word that looks like another option.
  const isDashed = !inlineValue && value !== undefined && /^-./s.test(value);
  if (value !== undefined && !isDashed) return undefined;
  const dashed = isDashed ? `, or --${name}=VALUE if the value begins with -` : "";
  return `--${name} needs a value: --${name} ${option.placeholder}${dashed}`;
}

/**
 * `--status -1` → `--status=-1`: after an option a negative number is its value, not another option. An option that
 * needs no value gets its own where none follows.
 */
function joinValues(argv: string[], options: Parameter[]): string[] {
  const joined: string[] = [];
  for (const [nth, word] of argv.entries()) {
    const option = joined.at(-1);
    const bare = options.find(({ name }) => word === `--${name}`)?.bareValue;
    if (/^-\d/.test(word) && option !== undefined && /^--[a-z-]+$/.test(option)) {
      joined.splice(-1, 1, `${option}=${word}`);
    } else if (bare !== undefined && (argv[nth + 1] ?? "-").startsWith("-")) joined.push(`${word}=${bare}`);
    else joined.push(word);
  }
  return joined;
}
