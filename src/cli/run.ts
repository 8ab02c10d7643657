// From arguments to an exit code: find the command, open the database, act, print.
import { describeDatabase, readConfig } from "../config.ts";
import { Refusal } from "../errors.ts";
import { stringify } from "../json-text.ts";
import { describeError } from "../log.ts";
import { openMigrated } from "../runtime/boot.ts";
import type { Terminal } from "../runtime/terminal.ts";
import { readArguments } from "./arguments.ts";
import type { Arguments } from "./arguments.ts";
import { nameOf } from "./command.ts";
import type { Command, Outcome } from "./command.ts";
import { commands } from "./commands.ts";
import { format } from "./format.ts";
import { help } from "./help.ts";

const done = 0, refused = 1, wrongUsage = 2;

/** Runs the command that the terminal's arguments name; gives the exit code. */
export async function run(terminal: Terminal): Promise<number> {
  const { args: argv, say, write } = terminal;
  const flags = argv.slice(0, argv.findIndex((word) => !word.startsWith("-")));
  const words = [...argv.slice(flags.length), ...flags];
  if (words.some((word) => ["help", "--help", "-h"].includes(word))) {
    write(help(words.filter((word) => /^[a-z]+$/.test(word) && word !== "help")));
    return done;
  }
  if (words[0] === "--version") {
    write(`${await terminal.version()}\n`);
    return done;
  }
  const command = commands.find((candidate) => nameOf(candidate).every((word, index) => word === words[index]));
  if (command === undefined) {
    if (words.length > 0) say(`promptledger: unknown command ${words.slice(0, 2).join(" ")}\n\n`);
    say(help(words.slice(0, 1)));
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
    return await act(command, args, terminal);
  } catch (error) {
    say(`promptledger: ${messageOf(error)}\n`);
    return refused;
  }
}

async function act(command: Command, args: Arguments, terminal: Terminal): Promise<number> {
  if ("start" in command) {
    await command.start();
    return done;
  }
  const config = readConfig(terminal.env);
  const { database, applied } = await openMigrated(config, "manage");
  try {
    // A database that was empty until now may be another one than was meant.
    if (applied.includes("001-create-catalog")) {
      terminal.say(`Made a database: ${describeDatabase(config.database.url)}\n`);
    }
    const admin = { database, clock: Date.now };
    return print(await command.run({ admin, args, read: terminal.read, applied }), args, terminal);
  } finally {
    database.close();
  }
}

function print({ data, note, refused: isRefused = false }: Outcome, { json }: Arguments, terminal: Terminal): number {
  terminal.write(json ? `${stringify(data)}\n` : format(data));
  if (note !== undefined) terminal.say(`${note}\n`);
  else if (Array.isArray(data) && data.length === 0) terminal.say("Nothing to list\n");
  return isRefused ? refused : done;
}

const messageOf = (error: unknown) => error instanceof Refusal ? error.message : describeError(error);
