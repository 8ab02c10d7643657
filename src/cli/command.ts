// What a command is, and what it works with and gives.
import type { Operation } from "../management/operation.ts";
import type { Terminal } from "../runtime/terminal.ts";
import type { Arguments } from "./arguments.ts";

/** Runs an operation, on a database of this machine or on a remote service. */
export type Call = <Input extends object, Output>(operation: Operation<Input, Output>, input: Input) => Promise<Output>;

/** What a command works with. */
export type CommandContext = { args: Arguments; call: Call; terminal: Terminal };

/** What a command works with that opens what it needs itself. */
export type LocalContext = Omit<CommandContext, "call">;

/**
 * What a command gives: its data; the text or the table's rows that people see instead of the usual ones; a remark; and
 * whether it must exit 1.
 */
export type Outcome = {
  data?: object | undefined;
  text?: (() => string) | undefined;
  rows?: Record<string, unknown>[] | undefined;
  note?: string | undefined;
  refused?: boolean | undefined;
};

/**
 * A command works on what `--server` names; one that runs locally opens what it needs itself. One that creates the database
 * does so where there is none; all others refuse that. `check` says what is wrong with arguments that fit one by one.
 */
export type Command =
  & { usage: string; summary: string; createsDatabase?: true | undefined }
  & { check?: ((args: Arguments) => string | undefined) | undefined }
  & ({ run(context: CommandContext): Promise<Outcome> } | { runLocally(context: LocalContext): Promise<Outcome> });

/** The words that call a command: those its usage begins with. */
export const nameOf = ({ usage }: Command): string[] => /^[a-z]+( [a-z]+)?(?= |$)/.exec(usage)![0].split(" ");

export const show = (data: object, note?: string): Outcome => ({ data, note });
