// Makes commands of operations. The usage line of an operation maps arguments to the members of its input.
import { describeRole } from "../../management/kernel/declare.ts";
import type { AnyOperation, Operation } from "../../management/kernel/operation.ts";
import type { Arguments } from "./arguments.ts";
import type { Command, CommandContext, Outcome } from "./command.ts";
import { exportItems } from "./export.ts";
import { checkNewest, listAll, listNewest } from "./lists.ts";
import { isRemovable, readUsage, remote } from "./parameters.ts";
import type { Explanations, Parameter } from "./parameters.ts";
import { separatorOf } from "./placeholders.ts";

/**
 * Differences of a command from calling its operation and printing the output: `row` formats an item of a list for
 * people, `show` any other output, and `run` replaces all of it. `exported` names the exported items, if not by the
 * noun. `explanations` override help texts by parameter name.
 */
type Presentation<Input extends object, Output> = {
  createsDatabase?: true;
  explanations?: Explanations;
  check?(args: Arguments): string | undefined;
  exported?: string;
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
    const { command: usage, summary, answers, paged, input: { schema } } = operation;
    if (usage === undefined) return [];
    const presentation: Presentation<object, unknown> = presentations.get(operation) ?? {};
    const { createsDatabase, explanations, check, exported, row, show, run } = presentation;
    const declared = readUsage(usage + remote, schema, explanations);
    return [{
      ...declared,
      summary,
      role: describeRole(operation),
      createsDatabase,
      check: check ?? (paged === "newest" ? checkNewest : undefined),
      async run(context): Promise<Outcome> {
        const input = readInput(declared.parameters, context.args);
        if (run !== undefined) return await run(context, input);
        if (answers === "export") {
          return await exportItems(context, operation as never, input, exported ?? `${declared.name[0]}s`);
        }
        if (paged === "newest") return await listNewest(context, operation as never, input, row as never);
        if (paged === "all") return await listAll(context.call, operation as never, input, row as never);
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

/** The input of an operation, from the arguments with members. */
const readInput = (parameters: Parameter[], args: Arguments): object =>
  Object.fromEntries(
    parameters.flatMap((parameter) =>
      parameter.member === undefined ? [] : [[parameter.member, readArgument(parameter, args)]]
    ),
  );

/** An empty text removes a value that may be null. The values of a repeated option become a list. */
function readArgument(parameter: Parameter, args: Arguments): string | number | boolean | null | undefined {
  const { name, placeholder, isRepeatable } = parameter;
  if (placeholder === undefined) return args.has(name) || undefined;
  if (isRepeatable) return args.texts(name).join(separatorOf(placeholder)) || undefined;
  const value = args.findNumber(name) ?? args.findText(name);
  return value === "" && isRemovable(parameter) ? null : value;
}
