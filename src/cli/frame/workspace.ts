// Finds the workspace of a command, before its operation is called.
import { conflict, notFound } from "../../common/errors.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { listWorkspaces } from "../../management/kernel/workspaces.ts";
import type { Workspace } from "../../management/kernel/workspaces.ts";
import type { Arguments } from "./arguments.ts";
import type { Call } from "./command.ts";
import { readAll } from "./lists.ts";
import { isNeeded, isWorkspace } from "./parameters.ts";
import type { Parameter } from "./parameters.ts";

const maxNamed = 10; // workspaces in a message

/**
 * The arguments with the id of the workspace that they name. If they name none and the command needs one, it is the
 * only one that the caller may see. A text that begins with `ws_` is an id, and is not looked up.
 */
export async function withWorkspace(parameters: Parameter[], args: Arguments, call: Call): Promise<Arguments> {
  const parameter = parameters.find(isWorkspace);
  if (parameter === undefined) return args;
  const name = args.findText(parameter.name);
  if (name === undefined ? !isNeeded(parameter) : name.startsWith("ws_")) return args;
  return args.with(parameter.name, await findWorkspace(call, name));
}

/** The id of the workspace that has a name or an id, or of the only one. */
export async function findWorkspace(call: Call, name: string | undefined): Promise<WorkspaceId> {
  if (name?.startsWith("ws_")) return name as WorkspaceId;
  return (name === undefined ? await findOnly(call) : await findByName(call, name)).id;
}

async function findOnly(call: Call): Promise<Workspace> {
  const { items: [first, ...others], nextCursor } = await call(listWorkspaces, { limit: maxNamed });
  if (first === undefined) throw conflict("There is no workspace yet. Create one with workspace create");
  if (others.length === 0 && nextCursor === null) return first;
  const more = nextCursor === null ? "" : " and more";
  throw conflict(
    "There are several workspaces. Name one, or its id, with --workspace or in PROMPTLEDGER_WORKSPACE: " +
      [first, ...others].map(({ name, id }) => `${name} (${id})`).join(", ") + more,
  );
}

async function findByName(call: Call, name: string): Promise<Workspace> {
  const named = (await readAll(call, listWorkspaces, {})).filter((workspace) => workspace.name === name);
  const [found, ...others] = named;
  if (found === undefined) throw conflict(`${notFound("Workspace", name).message}. See workspace list`);
  if (others.length === 0) return found;
  throw conflict(`Several workspaces are named ${name}. Give the id: ${named.map(({ id }) => id).join(", ")}`);
}
