// Finds the command, runs it locally or on a server, prints the outcome and returns the exit code.
import { createGuard, harmlessJson, isInCi } from "../support/ci-text.ts";
import { invalid, Refusal, withoutKeys } from "../common/errors.ts";
import { stringify } from "../common/json-text.ts";
import { describeError } from "../common/log.ts";
import { limitHeap } from "../runtime/serving/heap.ts";
import type { Terminal } from "../runtime/terminal.ts";
import { areOptions, readArguments } from "./frame/arguments.ts";
import type { Arguments } from "./frame/arguments.ts";
import type { Call, Command, Outcome } from "./frame/command.ts";
import { commands, findByName, withCurrentNoun } from "./commands.ts";
import { format, stripControls, withIsoTimes } from "./frame/format.ts";
import { describeUnknown, help, overview, withoutCovered } from "./help.ts";
import { openLocal } from "./frame/local.ts";
import { usageOf, wordForCommand } from "./frame/parameters.ts";
import type { Parameter } from "./frame/parameters.ts";
import { connectTo, readServer } from "./frame/remote.ts";
import { wrap } from "./frame/table.ts";
import { withWorkspace } from "./frame/workspace.ts";

const success = 0, failure = 1, badUsage = 2, difference = 3;

/** Runs the command that the terminal's arguments name. Returns the exit code. */
export async function run(own: Terminal): Promise<number> {
  const terminal = isInCi(own.env) ? guarded(own) : own, { say, write } = terminal;
  const words = commandFirst(terminal.args);
  const name = words.slice(0, words.concat("-").findIndex((word) => word.startsWith("-")));
  if (name.includes("help") || words.includes("--help") || words.includes("-h")) {
    const text = help(name.filter((word) => word !== "help"), terminal.columns);
    if (text !== undefined) {
      await write(text);
      return success;
    }
  }
  if (words[0] === "--version") {
    await write(`${await terminal.version()}\n`);
    return success;
  }
  const [command, ...others] = findCommands(words);
  if (command === undefined) {
    const unknown = name.filter((word) => word !== "help");
    say(
      words.length === 0
        ? overview(terminal.columns)
        : `promptledger: ${asMessage(describeUnknown(unknown, words[0]!))}\n`,
    );
    return badUsage;
  }
  let args: Arguments;
  try {
    refuseServer(command, words, terminal);
    const { PROMPTLEDGER_WORKSPACE } = terminal.env;
    const defaults = { workspace: PROMPTLEDGER_WORKSPACE || undefined };
    args = readArguments(command.parameters, words.slice(command.name.length), defaults);
    const server = "runLocally" in command ? undefined : args.findText("server");
    if (server !== undefined) readServer(server, "--server");
    const fault = command.check?.(args);
    if (fault !== undefined) throw invalid(fault);
  } catch (error) {
    const { columns = Infinity } = terminal;
    const usages = withoutCovered([command, ...others]).map((each) =>
      `${wrap(`Usage: promptledger ${usageOf(each)}`, columns, 4)}\n`
    );
    say(`promptledger: ${messageOf(error)}\n${usages.join("")}`);
    return badUsage;
  }
  try {
    const outcome = await act(command, args, terminal);
    return await print(outcome, args, outcome.isAnnotated ? { ...terminal, write: own.write } : terminal);
  } catch (error) {
    const message = error instanceof Refusal ? asMessage(wordForCommand(error, command.parameters, args)) : undefined;
    say(`promptledger: ${message ?? messageOf(error)}\n`);
    return failure;
  }
}

/** A terminal whose output has no commands of a CI system, even in others' texts. */
function guarded(terminal: Terminal): Terminal {
  const { env, isColoured, say, write } = terminal,
    [out, message] = [isColoured, false].map((has) => createGuard(env, has));
  const guardedWrite = (text: string) => write(out!(text));
  return { ...terminal, write: terminal.isToFile ? write : guardedWrite, say: (text) => say(message!(text)) };
}

/** Moves options before the command to its end. */
export function commandFirst(argv: string[]): string[] {
  const start = argv[0]?.startsWith("-") ? findStart(argv) : 0;
  const words = wordsFrom(argv, start);
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  return [...words.slice(0, end), ...argv.slice(0, start), ...words.slice(end)];
}

/** Index of the command behind options. A word may be the value of the option before it. */
function findStart(argv: string[]): number {
  const starts = argv.flatMap((word, at) => word.startsWith("-") ? [] : [at]);
  const isBehind = (at: number, parameters: Parameter[]) => areOptions(argv.slice(0, at), parameters);
  return starts.find((at) => findByName(wordsFrom(argv, at)).some(({ parameters }) => isBehind(at, parameters))) ??
    // The command describes what is wrong with its options.
    starts.find((at) => ["help", ...commands.map(({ name: [noun] }) => noun)].includes(wordsFrom(argv, at)[0])) ??
    starts.find((at) => isBehind(at, commands.flatMap(({ parameters }) => parameters))) ?? 0;
}

const wordsFrom = (argv: string[], at: number) => withCurrentNoun(argv.slice(at));

/** The commands with the longest matching name. The one with most of the given options comes first. */
function findCommands(words: string[]): Command[] {
  const options = words.flatMap((word) => /^--[a-z-]+/.exec(word) ?? []);
  const fitting = ({ parameters }: Command) => parameters.filter(({ label }) => options.includes(label)).length;
  // Commands with all the options they need come first, then those that need none, then those with a missing one.
  const needs = ({ parameters }: Command) => {
    const needed = parameters.filter(({ isOption, isRequired }) => isOption && isRequired);
    return needed.every(({ label }) => options.includes(label)) ? needed.length : -1;
  };
  return findByName(words).sort((a, b) => fitting(b) - fitting(a) || needs(b) - needs(a));
}

/** Otherwise a user who means a server would believe that its database was backed up or replaced. */
function refuseServer(command: Command, words: string[], { env }: Terminal): void {
  if (!("runLocally" in command) || command.needs !== "database") return;
  const isOption = words.some((word) => /^--server(=|$)/.test(word));
  if (!isOption && !env.PROMPTLEDGER_SERVER) return;
  const remedy = isOption ? "Leave out --server" : "Unset PROMPTLEDGER_SERVER";
  throw invalid(`${command.name.join(" ")} works on the database itself, in DATABASE_URL. ${remedy}`);
}

async function act(command: Command, args: Arguments, terminal: Terminal): Promise<Outcome> {
  const isLocal = "runLocally" in command;
  if (!isLocal || command.needs !== "service") limitHeap();
  if (isLocal) return await command.runLocally({ args, terminal });
  const runWith = async (call: Call): Promise<Outcome> =>
    await command.run({ args: await withWorkspace(command.parameters, args, call), terminal, call });
  const option = args.findText("server");
  const variable = terminal.env.PROMPTLEDGER_SERVER || undefined;
  if (option !== undefined) return await runWith(connectTo(option, terminal));
  if (variable !== undefined) return await runWith(connectTo(variable, terminal, { name: "PROMPTLEDGER_SERVER" }));
  const { call, close } = await openLocal(terminal, command.createsDatabase ? "create" : "check");
  try {
    return await runWith(call);
  } finally {
    close();
  }
}

async function print(
  outcome: Outcome,
  { json }: Arguments,
  { columns, report, say, write }: Terminal,
): Promise<number> {
  const { data, text, rows, note, failed = false, differs = false } = outcome;
  const list = rows ?? data;
  report("");
  if (data !== undefined && json) await write(`${harmlessJson(stringify(withIsoTimes(data)))}\n`);
  else if (data !== undefined) await write(text?.() ?? format(rows ?? data, columns));
  if (note !== undefined) say(`${stripControls(note)}\n`);
  else if (Array.isArray(list) && list.length === 0 && Array.isArray(data)) say("Nothing to list\n");
  return failed ? failure : differs ? difference : success;
}

/** The message of an error, which may come from a remote service. */
const messageOf = (error: unknown) => asMessage(error instanceof Refusal ? error.message : describeError(error));

const asMessage = (text: string) => stripControls(withoutKeys(text));
