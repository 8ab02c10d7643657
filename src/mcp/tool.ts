// Definition of a tool: its name and description for models, the least role that may call it, its input, output and
// function.
import { exactly, option } from "../schema/struct.ts";
import type { Members, Schema, Struct } from "../schema/struct.ts";
import { roles } from "../management/kernel/operation.ts";
import type { AnyOperation, Role } from "../management/kernel/operation.ts";
import * as v from "../management/kernel/values.ts";
import type { Session } from "./session.ts";

type Declared<Input, Output extends object> = {
  name: string;
  title: string;
  description: string;
  /** The operations that it runs, besides the one that finds the only workspace. */
  runs: readonly AnyOperation[];
  /** `replaces` if it may undo what is there. Undefined for a tool that changes nothing. */
  change?: "adds" | "replaces";
  /** True if its output has texts of strangers: of the users of applications, and of models. */
  isForeign?: true;
  output: Struct<Output, unknown>;
  run(session: Session, input: Input): Promise<Output>;
};

/** Any tool. `role` is the least one that may call all of its operations. */
export type Tool = Omit<Declared<never, object>, "output"> & {
  role: Role;
  input: Struct<object, Schema>;
  output: object;
};

/** Defines a tool. Its input has only the members of a schema. */
export const tool = <S extends Schema, Output extends object>(
  { input, ...declared }: Declared<Members<S>, Output> & { input: S },
): Tool => ({
  ...declared,
  role: roles.findLast((role) => declared.runs.some((operation) => operation.role === role))!,
  input: exactly<Schema>(input),
});

/** Input member for the workspace, for callers who may see several. */
export const inWorkspace = {
  workspaceId: option(v.workspaceId, "The id of the workspace. Needed only if you may see several"),
};

export const defaultPage = 20;
const pageSize = v.integerIn(1, 100, "", { default: defaultPage });

/** Input members of tools that list. */
export const page = {
  limit: option(pageSize, `How many to return at most, from 1 to 100. Default: ${defaultPage}`),
  cursor: option(v.cursor, "The nextCursor of the result before, to go on where it ended"),
};
