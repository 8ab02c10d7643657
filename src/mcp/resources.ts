// Prompts as resources. `promptledger://ws_…/support/assistant` is the newest version of a prompt, `?version=3`
// another.
import { notFound } from "../common/errors.ts";
import type { PromptId, WorkspaceId } from "../common/ids.ts";
import { stringify } from "../common/json-text.ts";
import { listPrompts } from "../management/prompts/prompts.ts";
import { getPrompt, getPromptVersion } from "../management/prompts/versions.ts";
import { check } from "../schema/struct.ts";
import * as v from "../management/kernel/values.ts";
import { listOverAll } from "./pages.ts";
import type { Session } from "./session.ts";
import { checkParameter } from "../schema/parse.ts";

const scheme = "promptledger";
const mimeType = "application/json";

/** The resources that a caller may see, in pages. */
export async function listResources(session: Session, cursor: unknown) {
  const { items, ...rest } = await listOverAll(
    session,
    cursor,
    (workspaceId, page) => session.call(listPrompts, { workspaceId, ...page }),
  );
  return {
    resources: items.map(({ workspaceId, name, title, latestVersion }) => ({
      uri: `${scheme}://${workspaceId}/${name}`,
      name,
      title,
      description: `Version ${latestVersion}, the newest`,
      mimeType,
    })),
    ...rest,
  };
}

export const resourceTemplates = [
  {
    uriTemplate: `${scheme}://{workspaceId}/{+name}?version={version}`,
    name: "version",
    title: "A version of a prompt",
    description: "The messages, model settings and variables of one version of a prompt",
    mimeType,
  },
];

const pattern = new RegExp(`^${scheme}://([^/?#]{1,128})/([^?#]{1,600})(?:\\?version=(\\d{1,15}))?$`);

/** The content of a resource. */
export async function readResource({ call }: Session, given: unknown) {
  const uri = checkParameter("uri", v.text, given, "uri");
  const [, workspaceId, encoded, version] = pattern.exec(uri) ?? [];
  const id = decode(encoded ?? "");
  if (workspaceId === undefined || id === undefined || !v.promptReference.is(id)) throw notFound("Resource", uri);
  const { prompt, ...newest } = await call(getPrompt, { id: id as PromptId, workspaceId: workspaceId as WorkspaceId });
  const content = version === undefined
    ? newest
    : await call(getPromptVersion, { id: prompt.id, version: check(v.positive, Number(version), "version") });
  return { contents: [{ uri, mimeType, text: stringify(content) }] };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
