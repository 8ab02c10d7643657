// Reads the prompts of a workspace with their deployments, to compare them with files.
import { groupBy } from "../../support/group-by.ts";
import type { DeploymentId, PromptId, WorkspaceId } from "../../common/ids.ts";
import type { Authorship, LedgerDeployment, LedgerPrompt, LedgerVersion } from "../../files/plan.ts";
import { listDeploymentChanges } from "../../management/deployments/deployment-changes.ts";
import { listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { listPromptContents } from "../../management/prompts/prompt-contents.ts";
import type { PromptContents } from "../../management/prompts/prompt-contents.ts";
import { contentIn } from "../../management/prompts/prompt-text.ts";
import { listPrompts } from "../../management/prompts/prompts.ts";
import { getPromptVersion } from "../../management/prompts/versions.ts";
import type { Call } from "../frame/command.ts";
import { pagesOf, readAll } from "../frame/lists.ts";

/** The prompts of a workspace by name, archived ones too. `report` receives how many were read. */
export async function readLedger(
  call: Call,
  workspaceId: WorkspaceId,
  report: (read: number) => void,
): Promise<Map<string, LedgerPrompt>> {
  const contents: PromptContents[] = [];
  for await (
    const page of pagesOf(call, listPromptContents, { workspaceId, versions: "newest" as const, archived: true })
  ) {
    contents.push(...page);
    report(contents.length);
  }
  const prompts = await readAll(call, listPrompts, { workspaceId, archived: true });
  const archived = new Set(prompts.filter(({ archivedAt }) => archivedAt !== null).map(({ id }) => id));
  const deployments = groupBy(
    await readAll(call, listDeployments, { workspaceId, archived: true }),
    ({ promptId }) => promptId,
  );
  const findLive = createReader(call, workspaceId);
  return new Map(contents.map((newest) => {
    const { id, name } = newest;
    const own = deployments.get(id) ?? [];
    return [name, {
      name,
      newest: toVersion(newest),
      isArchived: archived.has(id),
      deployments: own.map((each) => toDeployment(call, each)),
      findVersion: async (version) => version === newest.version ? toVersion(newest) : await findLive(id, version),
    }];
  }));
}

/** The versions that deployments of a workspace serve, by the id of their prompt and their number. */
export async function readLive(call: Call, input: { workspaceId: WorkspaceId; archived?: boolean }) {
  const contents = await readAll(call, listPromptContents, { ...input, versions: "live" as const });
  return new Map(contents.map((each) => [`${each.id} ${each.version}`, each]));
}

/** Finds versions. All live ones are read at once, when the first one is asked for. */
function createReader(call: Call, workspaceId: WorkspaceId) {
  let live: Promise<Map<string, PromptContents>> | undefined;

  return async (id: PromptId, version: number): Promise<LedgerVersion> => {
    const found = (await (live ??= readLive(call, { workspaceId, archived: true }))).get(`${id} ${version}`);
    if (found !== undefined) return toVersion(found);
    return toVersion({ ...await call(getPromptVersion, { id, version }), actor: "", source: null, origin: null });
  };
}

const toVersion = (found: PromptContents): LedgerVersion => (
  { version: found.version, content: contentIn(found), ...authorshipOf(found) }
);

const authorshipOf = (
  { actor, source, note, createdAt, origin }: Pick<
    PromptContents,
    "actor" | "source" | "note" | "createdAt" | "origin"
  >,
): Authorship => ({ actor, source, note, createdAt, isFromFiles: origin !== null });

function toDeployment(call: Call, deployment: Deployment): LedgerDeployment {
  const { id, name, currentVersion, revision, isProtected, archivedAt, rollout } = deployment;
  return {
    ...{ name, currentVersion, revision, isProtected, isArchived: archivedAt !== null, rollout },
    findPromotion: () => findPromotion(call, id),
  };
}

const promotions: readonly string[] = ["created", "promoted", "rolled_back"];

async function findPromotion(call: Call, id: DeploymentId): Promise<Authorship> {
  for await (const changes of pagesOf(call, listDeploymentChanges, { id })) {
    const found = changes.find(({ action }) => promotions.includes(action));
    if (found !== undefined) return authorshipOf(found);
  }
  return { actor: "", source: null, note: "", createdAt: 0, isFromFiles: false };
}
