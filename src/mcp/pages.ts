// Lists that span the workspaces that a caller may see.
import { invalidField } from "../common/errors.ts";
import type { Page } from "../common/domain.ts";
import type { WorkspaceId } from "../common/ids.ts";
import { listWorkspaces } from "../management/kernel/workspaces.ts";
import type { Session } from "./session.ts";

const mostAtOnce = 20; // workspaces of one page
const enough = 50; // items of one page

/** A page of one workspace, of at most `limit` items. */
export type ListOne<T> = (workspaceId: WorkspaceId, page: { limit: number; cursor?: string }) => Promise<Page<T>>;

/** Reads a page over all workspaces. Its cursor has a place among the workspaces, and one in the first of them. */
export async function listOverAll<T>({ call }: Session, given: unknown, list: ListOne<T>) {
  const start = given === undefined
    ? ["", "", ""]
    : typeof given === "string"
    ? /^(\w{0,64})\.(\w{0,64})$/.exec(given)
    : null;
  if (start === null) throw invalidField("cursor", "cursor must be the nextCursor of an earlier response");
  const items: T[] = [];
  let [, outer, inner] = start as [string, string, string];
  for (let visited = 0; visited < mostAtOnce && items.length < enough; visited++) {
    const workspaces = await call(listWorkspaces, { limit: 1, ...cursorIn(outer) });
    const [workspace] = workspaces.items;
    if (workspace === undefined) return { items };
    const page = await list(workspace.id, { limit: enough, ...cursorIn(inner) });
    items.push(...page.items);
    if (page.nextCursor !== null) inner = page.nextCursor;
    else if (workspaces.nextCursor === null) return { items };
    else [outer, inner] = [workspaces.nextCursor, ""];
  }
  return { items, nextCursor: `${outer}.${inner}` };
}

const cursorIn = (cursor: string) => cursor === "" ? {} : { cursor };
