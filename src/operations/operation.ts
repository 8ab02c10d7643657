// What an operation of the management API is: everything that serving it, calling it from afar and describing it need.
import type { Admin } from "../admin/admin.ts";
import { read } from "../schema/parse.ts";
import { described, exactly, listOf, nullable, optional } from "../schema/struct.ts";
import type { Members, Schema, Struct } from "../schema/struct.ts";
import * as v from "../schema/values.ts";

/** `DELETE` and `GET` carry what they ask for in the query, `PATCH` and `POST` in the body; ids are in the path. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Why an operation may be refused, besides input that does not fit. */
export type OperationRefusal = "not_found" | "conflict" | "outdated" | "gone";

export type Operation<Input extends object, Output> = {
  /** Its name in the description, which is unique: `createWorkspace`. */
  id: string;
  tag: "Workspaces" | "Keys" | "Prompts" | "Deployments" | "Records" | "Ledger";
  summary: string;
  method: Method;
  /** Below `/admin/v1`, with input members in braces: `/workspaces/{workspaceId}`. */
  path: string;
  input: Struct<object, Schema>;
  /** The struct of what is answered, for the description. */
  output: object;
  /** The path of what the operation has made; undefined where it has made nothing, or never does. */
  locate?(output: Output): string | undefined;
  refusals: OperationRefusal[];
  /** Whether it looks at much of the log, in slices: few run at once, and they stop when their client has left. */
  isLong?: true;
  run(admin: Admin, input: Input): Promise<Output>;
};

/** Any operation. */
export type AnyOperation = Operation<object, unknown>;

/** Declares an operation, whose input are the members of a schema and no others. */
export const operation = <S extends Schema, Output>(
  { input, ...declared }: Omit<Operation<Members<S>, Output>, "input"> & { input: S },
): Operation<Members<S>, Output> => ({ ...declared, input: exactly<Schema>(input) });

/** Runs an operation on input as JSON text, once that has been checked. */
export const perform = <Output>(
  { input, run }: Operation<never, Output>,
  admin: Admin,
  source: string,
): Promise<Output> => run(admin, read(input, source) as never);

/** An answer that is a part of a list. */
export const pageOf = <T>(item: Struct<T, unknown>) =>
  exactly({
    items: listOf(item),
    nextCursor: described(nullable(v.cursor), "What the next page is asked for with; null where there is none"),
  });

/** Members of the input of whatever changes a deployment. */
export const why = {
  actor: optional(described(v.label, "Who makes the change, for the history")),
  note: optional(described(v.note, "Why, for the history")),
};
export const change = { id: v.id, ...why, ifRevision: optional(v.count) };
