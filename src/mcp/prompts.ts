// Active deployments as prompts of the protocol, whose arguments are the variables of the live version.
import { conflict, deployNotFound, Refusal } from "../common/errors.ts";
import { readItems, readMembers } from "../common/json-text.ts";
import { readDeclarations } from "../management/prompts/declarations.ts";
import { getDeployment, listDeployments } from "../management/deployments/deployments.ts";
import type { Deployment } from "../management/deployments/deployments.ts";
import { renderPrompt } from "../management/prompts/renderings.ts";
import { getPromptVersion } from "../management/prompts/versions.ts";
import type { PromptVersion } from "../management/prompts/versions.ts";
import { check } from "../schema/struct.ts";
import * as v from "../management/kernel/values.ts";
import { listOverAll } from "./pages.ts";
import type { Session } from "./session.ts";
import { checkParameter } from "../schema/parse.ts";

/** The variables of a version as arguments. One that is declared as not required may be left out. */
const toArguments = ({ variables, declarations }: PromptVersion) => {
  const declared = readDeclarations(declarations);
  return variables.map((name) => {
    const { description, required = true } = declared.get(name) ?? {};
    return { name, ...(description === undefined ? {} : { description }), required };
  });
};

const isServed = ({ isActive, archivedAt }: Deployment): boolean => isActive && archivedAt === null;

const findVersion = ({ call }: Session, { promptId, currentVersion: version }: Deployment): Promise<PromptVersion> =>
  call(getPromptVersion, { id: promptId, version });

/** The reference of a deployment, or its id if several workspaces have that reference. */
async function nameOf({ caller, call }: Session, { id, reference }: Deployment): Promise<string> {
  if (caller.workspaceId !== undefined) return reference;
  try {
    await call(getDeployment, { id: check(v.deploymentReference, reference) });
    return reference;
  } catch (error) {
    if (!(error instanceof Refusal && error.code === "ambiguous_reference")) throw error;
    return id;
  }
}

async function describe(session: Session, deployment: Deployment) {
  const version = await findVersion(session, deployment);
  const { title, description } = version;
  return {
    name: await nameOf(session, deployment),
    title,
    description: description === "" ? title : description,
    arguments: fitting(toArguments(version)),
  };
}

/** The prompts that a caller may see, in pages. */
export async function listPrompts(session: Session, cursor: unknown) {
  const { items, ...rest } = await listOverAll(
    session,
    cursor,
    (workspaceId, page) => session.call(listDeployments, { workspaceId, ...page }),
  );
  // One after the other, since each reads a whole version.
  const prompts = [];
  for (const one of items.filter(isServed)) prompts.push(await describe(session, one));
  return { prompts, ...rest };
}

const mostLength = 16_384; // characters of JSON of the arguments of a prompt in a list

/** The first arguments that fit into a list, which has those of many prompts. */
function fitting<Argument extends object>(all: readonly Argument[]): Argument[] {
  let length = 0;
  const end = all.findIndex((argument) => (length += JSON.stringify(argument).length) > mostLength);
  return all.slice(0, end < 0 ? all.length : end);
}

/** A prompt with its arguments filled in. Its name is the reference or the id of a deployment. */
export async function getPrompt(session: Session, name: unknown, given: unknown = {}) {
  const id = checkParameter("name", v.deploymentReference, name, "name");
  const values = checkParameter("arguments", v.texts, given, "arguments");
  const deployment = await session.call(getDeployment, { id });
  if (!isServed(deployment)) throw deployNotFound();
  const version = await findVersion(session, deployment);
  const wanted = toArguments(version);
  const missing = wanted.filter(({ name, required }) => required && !Object.hasOwn(values, name));
  if (missing.length > 0) throw conflict(`Missing arguments: ${missing.map(({ name }) => name).join(", ")}`);
  const empty = Object.fromEntries(wanted.map(({ name }) => [name, ""]));
  const { promptId, currentVersion } = deployment;
  const filled = { id: promptId, version: currentVersion, values: { ...empty, ...values } };
  const { messages } = await session.call(renderPrompt, filled);
  return {
    description: version.description === "" ? version.title : version.description,
    messages: readItems(messages.text).flatMap(toMessages),
  };
}

/** A message in the form of the protocol, which has only the roles user and assistant, and one part in a message. */
function toMessages(source: string): { role: "user" | "assistant"; content: { type: "text"; text: string } }[] {
  const { role, content } = JSON.parse(source) as { role: string; content: string | { text?: unknown }[] };
  const parts = typeof content === "string"
    ? [content]
    : readItems(readMembers(source).get("content")!).map(toPartText);
  return parts.map((text) => ({
    role: role === "assistant" ? "assistant" : "user",
    content: { type: "text", text },
  }));
}

/** The text of a part, or its JSON if it has none. */
function toPartText(source: string): string {
  const { text } = JSON.parse(source) as { text?: unknown };
  return typeof text === "string" ? text : source;
}
