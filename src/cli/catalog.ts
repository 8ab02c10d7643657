// Lists of prompts and deployments, which say of each other what is live where.
import type { Deployment, Page, PageRequest, Prompt } from "../domain.ts";
import { listDeployments } from "../operations/deployment-operations.ts";
import type { Operation } from "../operations/operation.ts";
import { listPrompts } from "../operations/prompt-operations.ts";
import type { Call, Outcome } from "./command.ts";
import { pagesOf } from "./lists.ts";

type Listing<Item> = Operation<{ workspaceId: string } & PageRequest, Page<Item>>;

async function readAll<Item>(call: Call, operation: Listing<Item>, workspaceId: string): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pagesOf(call, operation, { workspaceId })) items.push(...page);
  return items;
}

/** The deployments of a workspace, each with the title of its prompt's newest version. */
export async function listDeploymentsWithPrompts(call: Call, workspaceId: string): Promise<Outcome> {
  const deployments = await readAll<Deployment>(call, listDeployments, workspaceId);
  const prompts = deployments.length === 0 ? [] : await readAll<Prompt>(call, listPrompts, workspaceId);
  const titles = new Map(prompts.map(({ id, title }) => [id, title]));
  const data = deployments.map((each) => ({ ...each, promptTitle: titles.get(each.promptId) ?? null }));
  const rows = data.map(({ name, promptTitle, currentVersion, isActive, createdAt, promptId, id }) => (
    { name, prompt: promptTitle, version: currentVersion, active: isActive, createdAt, promptId, id }
  ));
  return { data, rows };
}

/** The prompts of a workspace, each with the deployments that serve it. */
export async function listPromptsWithDeployments(call: Call, workspaceId: string): Promise<Outcome> {
  const prompts = await readAll<Prompt>(call, listPrompts, workspaceId);
  const deployments = prompts.length === 0 ? [] : await readAll<Deployment>(call, listDeployments, workspaceId);
  const byPrompt = new Map<string, Deployment[]>();
  for (const each of deployments) byPrompt.set(each.promptId, [...byPrompt.get(each.promptId) ?? [], each]);
  const data = prompts.map((prompt) => ({
    ...prompt,
    deployments: (byPrompt.get(prompt.id) ?? [])
      .map(({ id, name, currentVersion, isActive }) => ({ id, name, currentVersion, isActive })),
  }));
  const rows = data.map(({ title, latestVersion, deployments, createdAt, id }) => ({
    title,
    version: latestVersion,
    live: deployments.map(describeLive).join(", "),
    createdAt,
    id,
  }));
  return { data, rows };
}

const describeLive = ({ name, currentVersion, isActive }: Pick<Deployment, "name" | "currentVersion" | "isActive">) =>
  `${name} ${currentVersion}${isActive ? "" : " (inactive)"}`;
