// Completion scripts for shells: words, options and choices of every command, from the declarations of the commands.
import { groupBy } from "../support/group-by.ts";
import type { Command } from "./frame/command.ts";
import { readUsage, remote } from "./frame/parameters.ts";
import type { Parameter } from "./frame/parameters.ts";
import { choicesOf } from "./frame/placeholders.ts";

type Word = { word: string; text: string };

/**
 * Completions after words of a command line: nouns after none, the verbs of a noun, the options of a command and the
 * values of its first argument, if there are few.
 */
type Step = { after: string; words: Word[]; options: Parameter[] };

/** Options that need no command, or precede it. */
const globalOptions = readUsage(`promptledger [--version]${remote}`, {}, { version: "Print the version" }).parameters;
/** Options to explain a noun. */
const nounOptions = globalOptions.filter(({ name }) => name === "help");

function stepsOf(commands: Command[]): Step[] {
  const paths = commands.flatMap(({ name }) =>
    name.map((_, index) => name.slice(0, index).join(" ")).concat(name.join(" "))
  );
  return [...new Set(paths)].map((after) => {
    const depth = after === "" ? 0 : after.split(" ").length;
    const within = commands.filter(({ name }) => name.slice(0, depth).join(" ") === after);
    const words = within.flatMap(({ name, summary, parameters: [first] }): Word[] => {
      if (name.length > depth) return [{ word: name[depth]!, text: name.length === depth + 1 ? summary : "" }];
      return first === undefined || first.isOption
        ? []
        : choices(first).map((word) => ({ word, text: first.explanation }));
    });
    const own = within.filter(({ name }) => name.length === depth).flatMap(({ parameters }) => parameters);
    const options = depth === 0 ? globalOptions : own.length === 0 ? nounOptions : own;
    return {
      after,
      words: firstOf(words, ({ word }) => word),
      options: firstOf(options.filter(({ isOption }) => isOption), ({ label }) => label),
    };
  });
}

const firstOf = <T>(items: T[], keyOf: (item: T) => string): T[] =>
  items.filter((item, index) => items.findIndex((other) => keyOf(other) === keyOf(item)) === index);

/** A value in single quotes. In bash and zsh, a quote in it closes the text, follows escaped and reopens it. */
const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const quoteForFish = (text: string) => `'${text.replace(/[\\']/g, String.raw`\$&`)}'`;

/** The first sentence of an explanation. */
const shorten = (text: string) => text.split(/[.;:] /)[0]!;

const choices = ({ placeholder = "" }: Parameter) => choicesOf(placeholder);

/**
 * Lines of a `case` on the words before the cursor, the last one an option: its values if the option is a choice, or no
 * values if it takes any.
 */
function valuesOf(steps: Step[], toLine: (patterns: string[], values: string[]) => string): string[] {
  const given = steps.flatMap(({ after, options }) => options.map((option) => ({ after, option })))
    .filter(({ option }) => option.placeholder !== undefined);
  const [chosen, free] = [true, false].map((isChoice) =>
    given.filter(({ option }) => (choices(option).length > 0) === isChoice)
  ) as [typeof given, typeof given];
  const patterns = groupBy(chosen, ({ option }) => choices(option).join(" "));
  return [
    ...[...patterns].map(([values, uses]) =>
      toLine(uses.map(({ after, option }) => quote(`${after} ${option.label}`)), values.split(" "))
    ),
    toLine(firstOf(free, ({ option }) => option.label).map(({ option }) => `*${quote(` ${option.label}`)}`), []),
  ];
}

const bash = (steps: Step[]) =>
  `_promptledger() {
  local path="" word words="" index
  for ((index = 1; index < COMP_CWORD && index < 3; index++)); do
    word="\${COMP_WORDS[index]}"
    [[ $word == -* ]] || path="\${path:+$path }$word"
  done
  case "$path \${COMP_WORDS[COMP_CWORD - 1]}" in
${
    valuesOf(steps, (patterns, values) => `    ${patterns.join("|")}) words=${quote(values.join(" "))} path=none ;;`)
      .join(
        "\n",
      )
  }
  esac
  case "$path" in
${
    steps.map(({ after, words, options }) =>
      `    ${quote(after)}) words=${
        quote([...words.map(({ word }) => word), ...options.map(({ label }) => label)].join(" "))
      } ;;`
    ).join("\n")
  }
  esac
  [[ \${COMP_WORDS[COMP_CWORD]} == -* ]] || words="\${words%%--*}"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _promptledger promptledger
`;

const zsh = (steps: Step[]) =>
  `#compdef promptledger
_promptledger() {
  local -a found
  local place="\${(j: :)\${(@)words[2,$((CURRENT < 4 ? CURRENT - 1 : 3))]:#-*}}"
  case "$place $words[CURRENT-1]" in
${
    valuesOf(steps, (patterns, values) =>
      values.length === 0
        ? `    ${patterns.join("|")}) _files; return ;;`
        : `    ${patterns.join("|")}) compadd -- ${values.join(" ")}; return ;;`).join("\n")
  }
  esac
  case "$place" in
${
    steps.map(({ after, words, options }) => {
      const described = [
        ...words.map(({ word, text }) => `${word}:${shorten(text)}`),
        ...options.map(({ label, explanation }) => `${label}:${shorten(explanation)}`),
      ];
      return `    ${quote(after)}) found=(${described.map(quote).join(" ")}) ;;`;
    }).join("\n")
  }
  esac
  [[ $PREFIX == -* ]] || found=("\${(@)found:#--*}")
  if (( $#found )); then _describe promptledger found; else _files; fi
}
if [ "$funcstack[1]" = _promptledger ]; then _promptledger; else compdef _promptledger promptledger; fi
`;

const fish = (steps: Step[]) =>
  `function __promptledger_after
  set -l words (string match -v -- '-*' (commandline -opc))[2..3]
  test "$words" = "$argv[1]"
end
${
    steps.flatMap(({ after, words, options }) => {
      const line = (rest: string, text: string) =>
        `complete -c promptledger -n ${quoteForFish(`__promptledger_after ${quoteForFish(after)}`)} ${rest} -d ${
          quoteForFish(shorten(text))
        }`;
      return [
        ...words.map(({ word, text }) => line(`-f -a ${word}`, text)),
        ...options.map((option) => {
          const { name, placeholder, explanation } = option;
          const values = choices(option);
          const value = values.length > 0
            ? ` -x -a ${quoteForFish(values.join(" "))}`
            : placeholder === undefined
            ? ""
            : " -r";
          return line(`-l ${name}${value}`, explanation);
        }),
      ];
    }).join("\n")
  }
`;

const scripts = { bash, zsh, fish };
export type Shell = keyof typeof scripts;

/** The script that completes commands in a shell. */
export const completionFor = (shell: Shell, commands: Command[]): string => scripts[shell](stepsOf(commands));
