// The parameters of a command. Its usage line declares them, and is parsed once: reading arguments, help, completion and the
// words of messages follow from them.
import { byLeavingOut, bySetting } from "../../common/errors.ts";
import type { Refusal } from "../../common/errors.ts";
import { anyName } from "../../feedback/feedback-scan.ts";
import { hasType, isOptional, schemaOf } from "../../schema/struct.ts";
import type { Schema } from "../../schema/struct.ts";
import { formatValue } from "./format.ts";

/** A parameter: an option (`--limit N`), an option without a value (`--all`), or an argument (`FILE`). */
export type Parameter = {
  /** `limit`, or `FILE` for an argument. */
  name: string;
  /** Name in messages: `--limit`, or `FILE`. */
  label: string;
  /** Placeholder of its value: `N`, or `read|submit` for a choice. Undefined if it has none. */
  placeholder: string | undefined;
  /** Its value where it is given without one. Undefined if it needs one. */
  bareValue: string | undefined;
  isOption: boolean;
  isRequired: boolean;
  isRepeatable: boolean;
  /** The member of an operation's input that it sets, if any, and the struct of that member. */
  member: string | undefined;
  struct: Schema[string] | undefined;
  /** Text in the help. */
  explanation: string;
};

/** Help texts of parameters by name, in place of the descriptions of their members. */
export type Explanations = Readonly<Record<string, string>>;

/** The words that name a command, and its parameters. */
export type Declared = { name: string[]; parameters: Parameter[] };

/** The parameters of every command, and of those that call operations. Usage lines leave them out. */
const common = "[--json] [--help]";
export const remote = " [--server URL]";
const commonNames = ["server", "json", "help"];

/** The options of members that mean the same in many inputs. A usage line declares what else its command takes. */
const usualOptions: Record<string, string> = {
  deployId: "--deploy REF",
  sessionId: "--session S",
  status: "--status STATUS...",
  failures: "--failures",
  promptVersion: "--version N",
  rollout: "--rollout REF",
  from: "--from TIME",
  to: "--to TIME",
  keyId: "--key ID",
  model: "--model NAME",
  slowerThan: "--slower-than LATENCY",
  moreTokensThan: "--more-tokens-than TOKENS",
  costlierThan: "--costlier-than USD",
  where: "--where PATH=VALUE...",
  text: "--text TEXT",
  feedback: "--feedback CONDITION...",
  withoutFeedback: "--without-feedback NAME",
  archived: "--archived",
  note: "--note TEXT",
  actor: "--actor NAME",
  workspaceId: "--workspace WORKSPACE",
};

/** Values of options given without one. */
const bareValues: Record<string, string> = { "without-feedback": anyName };

/**
 * Reads a usage line: `deploy list [--prompt REF] [--render NAME=VALUE]... [--format ndjson|csv] [--all]`. `schema` is
 * that of the operation's input, whose usual members become options without being in the line.
 */
export function readUsage(usage: string, schema: Schema = {}, explanations: Explanations = {}): Declared {
  const [name] = /^[a-z]+( [a-z]+)?(?= |$)/.exec(usage)!;
  const own = readParameters(usage.slice(name.length), schema);
  const usual = Object.entries(usualOptions)
    .filter(([member]) => member in schema && own.every((parameter) => parameter.member !== member))
    // A list comes from a file.
    .filter(([member]) => !hasType(schema[member]!, "array"))
    // The workspace may be left out: it is then determined in other ways.
    .map(([member, option]) => isOptional(schema[member]!) || member === "workspaceId" ? bracketed(option) : option);
  const parameters = [
    ...[...own, ...readParameters(usual.join(" "), schema)].sort((a, b) => orderOf(a) - orderOf(b)),
    ...readParameters(common, schema),
  ];
  return {
    name: name.split(" "),
    parameters: parameters.map((each) => ({ ...each, explanation: explain(each, parameters, explanations) })),
  };
}

/** Arguments come first, and what every command takes last. */
export const orderOf = ({ name, isOption, isRequired }: Parameter): number =>
  !isOption ? 0 : commonNames.includes(name) ? 3 : isRequired ? 1 : 2;

const bracketed = (option: string) => option.replace(/^(.*?)(\.{3})?$/, "[$1]$2");

const parameterPattern = /(\[)?(?:--([a-z-]+)(?: ([^\s[\].]+))?|([A-Z-]+))\]?(\.{3})?(?= |$)/g;

const readParameters = (usage: string, schema: Schema): Parameter[] =>
  [...usage.matchAll(parameterPattern)].map(([, bracket, option, value, argument, dots]) => {
    const name = option ?? argument!;
    const isOption = option !== undefined;
    const member = candidatesOf(name, isOption).find((member) => member in schema);
    return {
      name,
      label: isOption ? `--${name}` : name,
      placeholder: isOption ? value : argument,
      bareValue: isOption ? bareValues[name] : undefined,
      isOption,
      isRequired: bracket === undefined,
      isRepeatable: dots !== undefined,
      member,
      struct: member === undefined ? undefined : schema[member],
      explanation: "",
    };
  });

/** The usage line of a command, without what every command takes. `space` separates an option from its value. */
export const usageOf = ({ name, parameters }: Declared, space = " "): string =>
  [...name, ...parameters.filter(({ name }) => !commonNames.includes(name)).map((each) => formatParameter(each, space))]
    .join(" ");

function formatParameter(parameter: Parameter, space: string): string {
  const { isOption, isRequired, isRepeatable, label, placeholder, bareValue } = parameter;
  const value = bareValue === undefined ? `${space}${placeholder}` : `[${space}${placeholder}]`;
  const text = isOption && placeholder !== undefined ? `${label}${value}` : label;
  return `${isRequired ? text : `[${text}]`}${isRepeatable ? "..." : ""}`;
}

/** Members of a parameter whose own name, or with `Id` behind it, is not a member. */
const membersOf: Record<string, string[]> = {
  // The limit of a list is that of all its pages.
  limit: ["monthlyLimit"],
  expires: ["expiresAt"],
  overlap: ["overlapMs"],
  when: ["condition"],
  over: ["overMs"],
  "keep-firing": ["keepFiringMs"],
  for: ["forMs"],
  "older-than": ["olderThanMs"],
  "keep-records": ["keepRecordsMs"],
  "keep-calls": ["keepCallsMs"],
  "to-version": ["version"],
  version: ["promptVersion", "version"],
  status: ["status", "statuses"],
  tier: ["tiers"],
  render: ["values"],
  from: ["from", "validFrom"],
  new: ["ifUnique"],
  REF: ["id"],
  WORKSPACE: ["id"],
  SESSION: ["sessionId"],
  RECORD: ["recordId"],
};

/** `read-only` → `readOnly`. */
const toMember = (name: string) => name.toLowerCase().replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The members that a parameter may set: `--workspace` sets `workspaceId`, `ID` sets `id`. */
const candidatesOf = (name: string, isOption: boolean): string[] =>
  membersOf[name] ?? [toMember(name), ...isOption ? [`${toMember(name)}Id`] : []];

/** Explanations of parameters whose operation has no other one. */
const usual: Explanations = {
  json: "Print only JSON, with each time in ISO 8601 as well",
  help: "Explain the command",
  server: "Use the service at this URL instead of the database in DATABASE_URL. Default: PROMPTLEDGER_SERVER",
  dir: "The folder with promptledger.yml or the prompts. Default: the current folder",
  workspace: "Its id or name. Default: PROMPTLEDGER_WORKSPACE, or else the only one",
  actor: "Who makes the change. Default: the user in the environment",
  limit: "How many entries to list at most. Default: 50",
  cursor: "Continue from this cursor, which a truncated list printed",
  all: "List everything",
  page: "With --json, print an object with items and nextCursor",
  out: "The file to write. Default: standard output",
  force: "Replace the file if it exists",
};

/** Help text of a parameter: the command's own, or the description of the member, or the usual one. */
function explain({ name, member, struct, isRepeatable, ...parameter }: Parameter, all: Parameter[], own: Explanations) {
  const { description, default: standard } = struct === undefined ? {} : schemaOf(struct);
  const described = member === "cursor" ? undefined : description as string | undefined;
  const text = own[name] ?? (described === undefined ? usual[name] ?? "" : toCommandWords(described, all));
  const isSaid = own[name] !== undefined || text.includes("Default") || typeof standard === "boolean";
  const fallback = standard !== undefined && !isSaid
    ? `. Default: ${formatValue(member ?? name, standard)}`
    : isWorkspace(parameter) && parameter.isOption && isNeeded({ struct })
    ? ". Default: PROMPTLEDGER_WORKSPACE, or else the only one"
    : "";
  return `${text}${fallback}${isRepeatable ? ". May be given several times" : ""}`;
}

/** Rewords a member's description, which is for the API: milliseconds, null, lines, true, and other members by name. */
const toCommandWords = (description: string, all: Parameter[]): string =>
  description
    .replace(/,? in (Unix )?milliseconds\b|, or null\b[^.,]*|\. Null\b[^.]*|, one per line,/g, "")
    .replace(/^The id of the workspace$/, "The workspace")
    .replace(/^Whether (to )?(\w)/, (_whole, _to, letter: string) => letter.toUpperCase())
    .replace(/`(\w+)`/g, (quoted, member: string) => findByMember(all, member)?.label ?? quoted);

/** The parameter of a member. */
const findByMember = (parameters: Parameter[], member: string) => parameters.find((each) => each.member === member);

/** True if its value is the id or the name of a workspace. */
export const isWorkspace = ({ placeholder }: Pick<Parameter, "placeholder">): boolean => placeholder === "WORKSPACE";

/** True if an operation requires its member. */
export const isNeeded = ({ struct }: Pick<Parameter, "struct">): boolean => struct !== undefined && !isOptional(struct);

/** True if an empty text removes the value of a parameter. */
export const isRemovable = ({ struct }: Parameter): boolean => struct !== undefined && hasType(struct, "null");

/**
 * Words a refusal for a command. If one of its parameters stands for the field, it has the name of that: `--limit must be …`,
 * and `use --force` in place of `set force`. A name in place of the id of a deployment gets a hint.
 */
export function wordForCommand(
  refusal: Refusal,
  parameters: Parameter[],
  args: { findText(name: string): string | undefined },
): string {
  const { message, code, field = "", expected } = refusal, parameter = findByMember(parameters, field);
  if (parameter === undefined) return message;
  const { name, label } = parameter;
  // The others say more than what the value must be.
  if (expected !== undefined && (code === "invalid" || code === "conflict")) return `${label} must be ${expected}`;
  const reference = code === "deployment_not_found" ? args.findText(name) ?? "" : "";
  if (reference !== "" && !reference.startsWith("dep_") && !reference.includes("@")) {
    return `${message}. Give its id, or its reference, NAME@DEPLOYMENT: see deploy list`;
  }
  return message.replace(bySetting(field), `use ${label}`).replace(byLeavingOut(field), `use ${label}`);
}

/** ` Did you mean deploy?` for the known word that a word was probably meant to be; empty without one. */
export function guess(word: string, known: string[], prefix = ""): string {
  const near = known.find((each) => word !== "" && (each.startsWith(word) || word.startsWith(each))) ??
    known.find((each) => distanceOf(word, each) <= Math.min(2, word.length / 2));
  return near === undefined ? "" : ` Did you mean ${prefix}${near}?`;
}

/** Number of characters to add, remove or replace to make one word of another. */
export function distanceOf(from: string, to: string): number {
  let row = [...to, ""].map((_, index) => index);
  for (const [at, character] of [...from].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...to].entries()) {
      next.push(Math.min(row[index]! + (character === other ? 0 : 1), row[index + 1]! + 1, next[index]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
