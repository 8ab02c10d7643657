// Constructors of the usual kinds of operations. Each sets what its kind says of methods, responses, revisions and pages. Also
// describes the roles that operations require.
import type { Members, Schema } from "../../schema/struct.ts";
import { exportFormats, ExportText } from "./export.ts";
import type { Export } from "./export.ts";
import { operation, protectedRole } from "./operation.ts";
import type { AnyOperation, Operation, Role } from "./operation.ts";

type Declared<S extends Schema, Output, Id extends string, Set extends string> =
  & Omit<Operation<Members<S>, Output, Id>, "input" | "method" | "role" | Set>
  & { input: S };

/** Defines an operation whose output is a page of a list. Commands list all pages, or with `newest` the first items. */
export const listOperation = <const Id extends string, S extends Schema, Output>(
  declared: Declared<S, Output, Id, "answers" | "paged"> & { paged?: "newest" },
): Operation<Members<S>, Output, Id> => operation<Id, S, Output>({ paged: "all", ...declared, method: "GET" });

/** Defines an operation that creates something, which then has a path. */
export const createOperation = <const Id extends string, S extends Schema, Output>(
  declared:
    & Declared<S, Output, Id, "answers" | "locate">
    & { role: Role; locate(output: NoInfer<Output>): string },
): Operation<Members<S>, Output, Id> => operation<Id, S, Output>({ ...declared, method: "POST", answers: "created" });

/** Defines an operation that changes a deployment, whose revision a request may name, and whose state may not allow it. */
export const changeOperation = <const Id extends string, S extends Schema, Output extends { revision: number }>(
  declared: Declared<S, Output, Id, "answers" | "conflicts" | "revision"> & { role: Role },
): Operation<Members<S>, Output, Id> =>
  operation<Id, S, Output>({ ...declared, method: "POST", conflicts: true, revision: ["etag", "if-match"] });

/** Defines an operation that exports. Its input has the format if there are several. */
export const exportOperation = <const Id extends string, S extends Schema>(
  { formats = exportFormats.slice(0, 1), ...declared }: Declared<S, Export, Id, "answers" | "isLong" | "output">,
): Operation<Members<S>, Export, Id> =>
  operation<Id, S, Export>({
    ...declared,
    method: "GET",
    output: ExportText,
    isLong: true,
    answers: "export",
    formats,
  });

/** Describes the role that an operation requires. */
export function describeRole({ role, roleOverAll, guardsProtected }: Omit<AnyOperation, "output">): string {
  const onProtected = guardsProtected ? [`${protectedRole} on a protected deployment`] : [];
  const overAll = roleOverAll === undefined ? [] : [`${roleOverAll} for all workspaces`];
  return [role, ...onProtected, ...overAll].join(", ");
}
