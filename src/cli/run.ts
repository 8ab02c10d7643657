// From arguments to an exit code: find the command, open the database, act, print.
import { readConfig } from "../config.ts";
import { Refusal } from "../errors.ts";
import { stringify } from "../json-text.ts";
import { describeError } from "../log.ts";
import { openMigrated } from "../runtime/boot.ts";
import type { Terminal } from "../runtime/terminal.ts";
import { readArguments } from "./arguments.ts";
import type { Arguments } from "./arguments.ts";
import { show } from "./command.ts";
import type { Command, Outcome } from "./command.ts";
import { commands, nameOf } from "./commands.ts";
import { format } from "./format.ts";
import { help } from "./help.ts";

const done = 0, refused = 1, wrongUsage = 2;

/** Runs the command that the terminal's arguments name; gives the exit code. */
export async function run(terminal: Terminal): Promise<number> {
  const { args: words, say, write } = terminal;
  if (words.includes("--help") || words[0] === "help") {
    write(help(words.filter((word) => /^[a-z]+$/.test(word) && word !== "help")));
    return done;
  }
  const command = commands.find((candidate) => nameOf(candidate).every((word, index) => word === words[index]));
  if (command === undefined) {
    say(words.length === 0 ? help() : `promptledger: unknown command; see promptledger --help\n`);
    return wrongUsage;
  }
  let args: Arguments;
  try {
    args = readArguments(command.usage, words.slice(nameOf(command).length));
  } catch (error) {
    say(`promptledger: ${messageOf(error)}\nUsage: promptledger ${command.usage}\n`);
    return wrongUsage;
  }
  try {
    const outcome = await act(command, args, terminal);
    if (outcome.data !== undefined) {
      write(words.includes("--json") ? `${stringify(outcome.data)}\n` : format(outcome.data));
    }
    if (outcome.note !== undefined) say(`${outcome.note}\n`);
    else if (Array.isArray(outcome.data) && outcome.data.length === 0) say("Nothing to list\n");
    return outcome.refused ? refused : done;
  } catch (error) {
    say(`promptledger: ${messageOf(error)}\n`);
    return refused;
  }
}

async function act(command: Command, args: Arguments, { env, read }: Terminal): Promise<Outcome> {
  if ("start" in command) {
    await command.start();
    return show(undefined);
  }
  const { database, applied } = await openMigrated(readConfig(env));
  try {
    return await command.run({ admin: { database, clock: Date.now }, args, read, applied });
  } finally {
    database.close();
  }
}

const messageOf = (error: unknown) => error instanceof Refusal ? error.message : describeError(error);
