// Makes commands of operations. The usage line of an operation maps arguments to the members of its input.
import { describeRole } from "../management/operation.ts";
import type { AnyOperation, Operation } from "../management/operation.ts";
import { hasType } from "../schema/struct.ts";
import { flagsOf, readUsage } from "./arguments.ts";
import type { Arguments, Parameter } from "./arguments.ts";
import type { Command, CommandContext, Outcome } from "./command.ts";
import { checkNewest, listAll, listNewest } from "./lists.ts";
import { checkMembers, memberOf, toMember } from "./option-names.ts";
import { separatorOf } from "./placeholders.ts";

/**
 * What a command does differently from calling its operation and printing the output: `row` formats an item of a list for
 * people, `show` any other output, and `run` replaces all of it.
 */
type Presentation<Input extends object, Output> = {
  createsDatabase?: true;
  check?(args: Arguments): string | undefined;
  row?(item: never): Record<string, unknown>;
  show?(output: Output, context: CommandContext): Outcome;
  run?(context: CommandContext, input: Input): Promise<Outcome>;
};

type Presented = [operation: AnyOperation, presentation: Presentation<never, never>];

export const present = <Input extends object, Output>(
  operation: Operation<Input, Output>,
  presentation: Presentation<Input, Output>,
): Presented => [operation as AnyOperation, presentation];

/** The command of each operation that declares one. */
export function commandsOf(operations: readonly AnyOperation[], presented: Presented[]): Command[] {
  const presentations = new Map(presented);
  return operations.flatMap((operation) => {
    const { command: usage, summary } = operation;
    if (usage === undefined) return [];
    const { createsDatabase, check, row, show, run }: Presentation<object, unknown> = presentations.get(operation) ??
      {};
    const isPaged = /\[--page\]/.test(usage);
    return [{
      usage,
      summary,
      role: describeRole(operation),
      createsDatabase,
      check(args) {
        checkMembers(usage, operation.input.schema, args);
        return (check ?? (isPaged ? checkNewest : undefined))?.(args);
      },
      async run(context): Promise<Outcome> {
        const input = readInput(operation, context);
        if (run !== undefined) return await run(context, input);
        if (isPaged) return await listNewest(context, operation as never, input, row as never);
        if ("cursor" in operation.input.schema) return await listAll(context.call, operation as never, input);
        const data: object = await context.call(operation as never, input);
        return show?.(data, context) ?? { data };
      },
    }];
  });
}

type Removal = { calls: number; records: number; isDone: boolean };

/** Repeats an operation that removes calls and records until nothing is left. `verb` begins the progress message. */
export const repeatUntilDone = <Input extends object>(
  operation: Operation<Input, Removal>,
  verb: string,
): Presentation<Input, Removal> => ({
  async run({ call, terminal }, input) {
    const sum = { calls: 0, records: 0 };
    for (let isDone = false; !isDone;) {
      const removed = await call(operation, input);
      sum.calls += removed.calls;
      sum.records += removed.records;
      isDone = removed.isDone;
      terminal.report(`${verb} ${sum.calls} calls and ${sum.records} records`);
    }
    return { data: sum };
  },
});

function readInput({ command, input: { schema } }: AnyOperation, { args }: CommandContext): object {
  const parameters = readUsage(command!);
  const flags = flagsOf(command!).filter((name) => toMember(name) in schema && args.has(name));
  const given = parameters.flatMap((parameter) => {
    const member = memberOf(parameter, schema);
    return member === undefined ? [] : [[member, readArgument(parameter, args, schema[member]!)]];
  });
  return { ...Object.fromEntries(given), ...Object.fromEntries(flags.map((name) => [toMember(name), true])) };
}

/** An empty text removes a value that may be null. The values of a repeated option become a list. */
function readArgument(
  { name, placeholder, isRepeatable }: Parameter,
  args: Arguments,
  struct: object,
): string | number | null | undefined {
  if (isRepeatable) return args.texts(name).join(separatorOf(placeholder)) || undefined;
  const value = args.findNumber(name) ?? args.findText(name);
  return value === "" && hasType(struct, "null") ? null : value;
}
