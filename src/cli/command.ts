// What a command is, and what it works with and gives.
import type { Operation } from "../operations/operation.ts";
import type { Terminal } from "../runtime/terminal.ts";
import type { Arguments } from "./arguments.ts";

/** Runs an operation, wherever it runs: on a database of this machine, or by a service far away. */
export type Call = <Input extends object, Output>(operation: Operation<Input, Output>, input: Input) => Promise<Output>;

/** What a command works with. */
export type CommandContext = { args: Arguments; call: Call; terminal: Terminal };

/** What a command works with that opens what it needs itself. */
export type LocalContext = Omit<CommandContext, "call">;

/**
 * What a command gives: its data, the text or the rows of a table that people see where the usual ones do not do, a remark
 * about it, and whether it must exit 1.
 */
export type Outcome = {
  data?: object | undefined;
  text?: (() => string) | undefined;
  rows?: Record<string, unknown>[] | undefined;
  note?: string | undefined;
  refused?: boolean | undefined;
};

/**
 * A command runs on whatever `--server` says; one that does something on this machine opens what it needs itself. One that
 * can be the first makes a database where there is none; all others have been pointed at the wrong place. `check` says what
 * is wrong with arguments that fit one by one.
 */
export type Command =
  & { usage: string; summary: string; canBeFirst?: true; check?(args: Arguments): string | undefined }
  & ({ run(context: CommandContext): Promise<Outcome> } | { start(context: LocalContext): Promise<Outcome> });

/** The words that call a command: those its usage begins with. */
export const nameOf = ({ usage }: Command): string[] => /^[a-z]+( [a-z]+)?(?= |$)/.exec(usage)![0].split(" ");

export const show = (data: object, note?: string): Outcome => ({ data, note });
