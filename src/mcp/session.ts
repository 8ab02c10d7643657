// A caller, and its access to management. HTTP creates one for each request, stdio one in all.
import { conflict } from "../common/errors.ts";
import type { WorkspaceId } from "../common/ids.ts";
import type { Refusal } from "../common/errors.ts";
import type { Caller, Operation } from "../management/kernel/operation.ts";
import { listWorkspaces } from "../management/kernel/workspaces.ts";

/** Runs an operation for the caller. */
export type Call = <Input extends object, Output>(operation: Operation<Input, Output>, input: Input) => Promise<Output>;

export type Session = {
  caller: Pick<Caller, "role" | "workspaceId">;
  call: Call;
  /** Converts an error to a refusal. Logs an unexpected one. */
  refusalOf(error: unknown): Refusal;
};

const maxNamed = 10; // workspaces in a message

/** The workspace that a call names, that the caller is bound to, or the only one. */
export async function workspaceOf(
  { caller, call }: Session,
  given: WorkspaceId | undefined,
): Promise<WorkspaceId> {
  const known = given ?? caller.workspaceId;
  if (known !== undefined) return known;
  const { items: [first, ...others], nextCursor } = await call(listWorkspaces, { limit: maxNamed });
  if (first === undefined) throw conflict("There is no workspace yet");
  if (others.length === 0 && nextCursor === null) return first.id;
  const names = [first, ...others].map(({ name, id }) => `${id} (${name})`).join(", ");
  throw conflict(`There are several workspaces. Set workspaceId to one of ${names}${nextCursor === null ? "" : " …"}`);
}
