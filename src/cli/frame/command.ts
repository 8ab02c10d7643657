// A command, its context and its outcome.
import type { Operation } from "../../management/kernel/operation.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import type { Arguments } from "./arguments.ts";
import { format } from "./format.ts";
import type { Declared } from "./parameters.ts";

/** Runs an operation, on a database of this machine or on a remote service. */
export type Call = <Input extends object, Output>(operation: Operation<Input, Output>, input: Input) => Promise<Output>;

/** The context of a command. */
export type CommandContext = { args: Arguments; call: Call; terminal: Terminal };

/** The context of a command that opens what it needs itself. */
export type LocalContext = Omit<CommandContext, "call">;

/**
 * The outcome of a command: its data, the text or the rows of a table that people see in place of the default, a note,
 * and whether the command exits 1, or 3 because something differs.
 */
export type Outcome = {
  data?: object | undefined;
  text?: (() => string) | undefined;
  rows?: Record<string, unknown>[] | undefined;
  note?: string | undefined;
  /** Set if the lines of the text are annotations, which are commands of GitHub Actions. */
  isAnnotated?: boolean | undefined;
  failed?: boolean | undefined;
  differs?: boolean | undefined;
};

/**
 * A command works on the database or on the service that `--server` names. One with `runLocally` opens what it `needs`
 * itself. One that needs the database itself refuses a server. Only a command with `createsDatabase` creates a missing
 * database. All others fail without one. `check` returns the fault of invalid arguments, before anything is opened.
 * `role` is the role that the command requires on a service.
 */
export type Command =
  & Declared
  & { summary: string; role?: string | undefined; createsDatabase?: true | undefined }
  & { check?: ((args: Arguments) => string | undefined) | undefined }
  & (
    | { run(context: CommandContext): Promise<Outcome> }
    | { runLocally(context: LocalContext): Promise<Outcome>; needs: "database" | "service" | "nothing" }
  );

/** The default actor of a command: the user in the environment. */
export const userOf = ({ env }: Terminal): string | undefined => env.USER || env.USERNAME || undefined;

export const show = (data: object, note?: string): Outcome => ({ data, note });

/** Shows an item that is issued with a secret. The secret follows the ids, wherever the data has it. */
export function showSecret<Member extends string>(
  member: Member,
  data: { id: string; workspaceId: string | null } & Record<Member, string | null>,
  note?: string,
): Outcome {
  const { id, workspaceId, ...others } = data;
  return { data, text: () => format({ id, workspaceId, [member]: data[member], ...others }), note };
}
