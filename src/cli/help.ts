// The help of the command line: an overview, and the explanation of a noun or of a command.
import { roles } from "../management/kernel/operation.ts";
import type { Command } from "./frame/command.ts";
import { commands, findByName } from "./commands.ts";
import { guess, orderOf, usageOf } from "./frame/parameters.ts";
import type { Parameter } from "./frame/parameters.ts";
import { describeValue } from "./frame/placeholders.ts";
import { widthOf, wrap } from "./frame/table.ts";

const defaultWidth = 80; // columns

const more =
  "NOUN --help explains the commands of a noun, NOUN VERB --help a single one. They use the database in DATABASE_URL " +
  "(default: file:promptledger.db) or, with --server URL, a service.";

const roleNote = "In parentheses: the minimum role of a token on a service. Roles in ascending order: " +
  `${roles.join(", ")}.`;

const example = "For example: promptledger deploy promote support/chat@production --from staging";

/** The nouns with their verbs, an example, and where to go on. */
export function overview(columns = defaultWidth): string {
  const nouns = [...new Set(commands.map(({ name: [noun] }) => noun!))];
  const rows = nouns.map((noun): Row => {
    const ofNoun = commands.filter(({ name }) => name[0] === noun);
    const verbs = [...new Set(ofNoun.flatMap(({ name: [, verb] }) => verb ?? []))].join(", ");
    return [noun, ofNoun.some(({ name }) => name.length === 1) && verbs !== "" ? `[${verbs}]` : verbs];
  });
  const hasSeveral = ([, verbs]: Row) => /^[^[].*,/.test(verbs);
  const others = rows.filter((row) => !hasSeveral(row)).map((row) => row.join(" ").trimEnd());
  return `Usage: promptledger NOUN [VERB] [OPTIONS]
${layOutPairs(rows.filter(hasSeveral), columns)}${wrap(`  ${others.join(", ")}`, columns, 2)}

${wrap(example, columns)}
${wrap(more, columns)}
`;
}

/** Help on a noun, or on the command with which these words begin. Undefined for an unknown one. */
export function help(words: string[], columns = defaultWidth): string | undefined {
  if (words.length === 0) return overview(columns);
  const ofNoun = words.length === 1 ? commands.filter(({ name: [noun] }) => noun === words[0]) : [];
  const chosen = ofNoun.length > 0 ? ofNoun : findByName(words);
  return chosen.length === 0 ? undefined : explain(chosen, columns);
}

function explain(all: Command[], columns: number): string {
  const chosen = withoutCovered(all);
  const placeholders = new Set(
    chosen.flatMap(({ parameters }) => parameters.flatMap((each) => each.placeholder ?? [])),
  );
  const values = [...placeholders].flatMap((placeholder): Row[] => {
    const value = describeValue(placeholder);
    return value === undefined ? [] : [[placeholder, value]];
  });
  return [
    ...chosen.map((command) => describe(command, all, columns)),
    `Options\n${layOutRows(listParameters(chosen), columns)}`,
    ...values.length === 0 ? [] : [`Values\n${layOutRows(values, columns)}`],
    ...chosen.every(({ role }) => role === undefined) ? [] : [`${wrap(roleNote, columns)}\n`],
  ].join("\n");
}

const requiredOf = ({ parameters }: Pick<Command, "parameters">): string[] =>
  parameters.flatMap(({ label, isRequired }) => isRequired ? [label] : []);

/** True if another command of the same name takes all parameters of one, and requires fewer. */
const covers = (other: Command, { name, parameters }: Command): boolean =>
  other.name.join(" ") === name.join(" ") &&
  parameters.every(({ label }) => other.parameters.some((each) => each.label === label)) &&
  requiredOf(other).length < requiredOf({ parameters }).length;

/** Leaves out commands that another one covers. */
export const withoutCovered = (all: Command[]): Command[] =>
  all.filter((command) => !all.some((other) => covers(other, command)));

/** The usage of a command, with its summary and those of the commands that it covers. */
function describe(command: Command, all: Command[], columns: number): string {
  // A line breaks between parameters, not within one.
  const usage = usageOf(command, nonBreaking);
  const summaries = [command, ...all.filter((other) => covers(command, other))].map((each) => {
    const more = requiredOf(each).filter((label) => !requiredOf(command).includes(label));
    const condition = more.length === 0 ? "" : `With ${more.join(" and ")}: `;
    return `${wrap(`  ${condition}${each.summary}${each.role === undefined ? "" : ` (${each.role})`}`, columns, 2)}\n`;
  });
  return `${wrap(`promptledger ${usage}`, columns, 4).replaceAll(nonBreaking, " ")}\n${summaries.join("")}`;
}

const nonBreaking = "\u00a0";

type Row = [name: string, text: string];

/** Lists parameters with explanations. Any that differ between commands name their verbs. */
function listParameters(chosen: Command[]): Row[] {
  const uses = chosen.flatMap(({ name, parameters }) =>
    parameters.map((parameter) => ({ ...parameter, verb: name[1] ?? name[0]! }))
  ).sort((a, b) => orderOf(a) - orderOf(b));
  const isSame = (a: Parameter, b: Parameter) => a.label === b.label && a.explanation === b.explanation;
  return uses.filter((use, index) => uses.findIndex((other) => isSame(use, other)) === index).map((use): Row => {
    const { label, placeholder, isOption, explanation } = use;
    const verbs = new Set(uses.filter((other) => isSame(use, other)).map(({ verb }) => verb));
    const isEverywhere = uses.every((other) => other.label !== label || isSame(use, other));
    return [
      isOption && placeholder !== undefined ? `${label} ${placeholder}` : label,
      `${explanation}${isEverywhere ? "" : ` (${[...verbs].join(", ")})`}`,
    ];
  });
}

const maxMargin = 22; // columns

/** Two columns, of which the second is wrapped. It begins in its own line where the first one is too wide. */
function layOutRows(rows: Row[], columns: number, widest = Math.max(...rows.map(([name]) => widthOf(name)))): string {
  const margin = Math.min(maxMargin, widest);
  const indent = " ".repeat(margin + 4);
  return rows.map(([name, text]) => {
    const first = widthOf(name) <= margin ? `  ${name.padEnd(margin)}  ` : `  ${name}\n${indent}`;
    return `${first}${wrap(indent + text, columns, indent.length).slice(indent.length)}\n`;
  }).join("");
}

/** Lays out rows, two in a line where both are short, so that the nouns fit into a terminal. */
function layOutPairs(rows: Row[], columns: number): string {
  const margin = Math.max(...rows.map(([name]) => widthOf(name))), half = Math.floor(columns / 2);
  const cell = ([name, text]: Row) => `  ${name.padEnd(margin)}  ${text}`;
  const isShort = (row: Row | undefined) => row !== undefined && widthOf(cell(row)) < half;
  let text = "";
  for (let nth = 0; nth < rows.length; nth++) {
    const row = rows[nth]!;
    text += isShort(row) && isShort(rows[nth + 1])
      ? `${cell(row).padEnd(half)}${cell(rows[++nth]!)}\n`
      : layOutRows([row], columns, margin);
  }
  return text;
}

/** Describes the unknown word of a command, and the nearest command. `first` is the first argument. */
export function describeUnknown([noun, verb]: string[], first: string): string {
  const names = commands.map(({ name }) => name);
  const verbs = [...new Set(names.flatMap(([word, own]) => word === noun && own !== undefined ? [own] : []))];
  if (noun === undefined || verbs.length === 0) {
    const nouns = [...new Set(names.map(([word]) => word!))];
    const given = noun === undefined ? first : verb === undefined ? noun : `${noun} ${verb}`;
    return `unknown command ${given}.${guess(noun ?? "", nouns)}
Commands: ${nouns.join(", ")}
See promptledger --help`;
  }
  const more = `See promptledger ${noun} --help`;
  if (verb === undefined) return `${noun} needs a verb: ${verbs.join(", ")}. ${more}`;
  return `unknown command ${noun} ${verb}.${guess(verb, verbs, `${noun} `)} ${more}`;
}
