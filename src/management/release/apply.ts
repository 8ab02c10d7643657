// Applies a release set: versions, promotions, renames and archivings of many prompts, in one transaction, all or none.
import { bounds } from "../../support/bounds.ts";
import { archived, conflict, invalidField, movedOn } from "../../common/errors.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { readItems } from "../../common/json-text.ts";
import type { Statement } from "../../database/database.ts";
import { readObject } from "../../schema/parse.ts";
import { described, exactly, listOf, option, optional, orNull, rawJson, refined, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import type { Change } from "../kernel/commit.ts";
import { settleNew, settlePromotion } from "../deployments/deployment-writes.ts";
import {
  DeploymentResult,
  findDeployments,
  planDeployment,
  requestsOf,
  requireChangeable,
  toDeployment,
} from "../deployments/deployments.ts";
import type { Deployment } from "../deployments/deployments.ts";
import { changeInfo, operation, requireRole } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { givenOrigin } from "../kernel/origin.ts";
import { archivePrompt, findPrompts, planArchiving, planRename, toPrompt } from "../prompts/prompts.ts";
import type { Prompt } from "../prompts/prompts.ts";
import { within, withPath } from "../kernel/refusal-fields.ts";
import { requireRoom } from "../kernel/room.ts";
import { planPrompt, planVersion, promptContent, requireVersion } from "../prompts/versions.ts";
import type { PromptInput } from "../prompts/versions.ts";

const { promptsOfSet: maxPrompts, deploymentsOfSet: maxDeployments } = bounds; // deployments of each prompt

const Promotion = exactly({
  name: described(v.deploymentName, "The name of the deployment. It is created if the prompt has none of that name"),
  version: option(v.positive, "The version to make live. Default: the newest, with this release set"),
  ifRevision: orNull(v.count, "The revision of the deployment that was seen, or null if there was none"),
});
export type Promotion = Infer<typeof Promotion>;

const { title, messages, ...others } = promptContent;
/** Change of a prompt in a release set. */
const PromptChange = exactly({
  name: described(v.promptName, "The name of the prompt. It is created if there is none of that name"),
  was: option(v.promptName, "The name that it had before"),
  ifLatest: orNull(v.positive, "The newest version that was seen, or null if there was no such prompt"),
  ...{ title: optional(title), messages: optional(messages), ...others },
  note: option(v.note, "The reason for the version. Default: that of the set"),
  deploy: option(
    refined(listOf(Promotion), ({ length }) => length <= maxDeployments, `at most ${maxDeployments} deployments`, {
      maxItems: maxDeployments,
    }),
    "Where to make a version live",
  ),
  archive: option(v.boolean, "Whether to archive it with its deployments"),
  ifDeployments: option(
    listOf(exactly({ name: v.deploymentName, revision: v.positive })),
    "With archive: its deployments that were seen. Default: whichever there are",
  ),
});
export type PromptChange = Infer<typeof PromptChange>;

export const ReleaseSet = exactly({
  workspaceId: v.workspaceId,
  prompts: rawJson(described(
    refined(listOf(PromptChange), ({ length }) => length <= maxPrompts, `at most ${maxPrompts} prompts`, {
      maxItems: maxPrompts,
    }),
    "What to do to each prompt",
  )),
  origin: givenOrigin,
  ...changeInfo,
});
export type ReleaseSet = Infer<typeof ReleaseSet>;

const AppliedPrompt = shape("AppliedPrompt", {
  id: v.text,
  name: v.text,
  version: described(v.positive, "Its newest version"),
  isNewPrompt: described(v.boolean, "Whether this created the prompt"),
  isNew: described(v.boolean, "Whether this created the version"),
  isArchived: v.boolean,
  deployments: listOf(DeploymentResult),
});

const Applied = shape("Applied", {
  prompts: described(listOf(AppliedPrompt), "In the order of the request"),
  changes: described(v.count, "How many entries the audit log has of this"),
});
export type Applied = Infer<typeof Applied>;

export const applyPrompts = operation({
  id: "applyPrompts",
  summary: "Apply a release set: versions and promotions of up to 200 prompts in one transaction, all or none. It is " +
    "refused if anything has changed since it was planned",
  method: "POST",
  path: "/apply",
  conflicts: true,
  role: "editor",
  guardsProtected: true,
  maxBodyBytes: 16 * 1024 * 1024,
  input: ReleaseSet.schema,
  output: Applied,
  refusals: ["outdated"],
  requests: ({ prompts }) => prompts.flatMap(({ deployments }) => deployments.flatMap(requestsOf)),
  async run(management, { workspaceId, prompts, note }): Promise<Applied> {
    // A version without a reason of its own has that of the set.
    const given = readItems(prompts.text).map((text, index) =>
      within(`prompts[${index}]`, () => ({ note, ...readObject(PromptChange, text) }))
    );
    requireDifferent(given);
    const known = await findAll(management, workspaceId, given);
    await requireRoomFor(management, workspaceId, given, known);
    const changes: Change[] = [], statements: Statement[] = [];
    const applied: Applied["prompts"] = [], moved: string[] = [];
    for (const [index, change] of given.entries()) {
      const found = findMoved(change, known);
      const planned = await planOne(management, workspaceId, change, known).catch((error) => {
        if (found.length === 0) throw withPath(`prompts[${index}]`, error);
      });
      // A change that was already made, as by the same release set, has no preconditions.
      if (planned === undefined || found.length > 0 && planned.changes.length > 0) {
        moved.push(...found);
        continue;
      }
      changes.push(...planned.changes);
      statements.push(...planned.statements);
      applied.push(planned.applied);
    }
    if (moved.length > 0) throw movedOn(moved);
    if (changes.length > 0) await management.commit(changes, statements);
    return { prompts: applied, changes: changes.length };
  },
});

/** Throws if two members of a set are about the same prompt or deployment. */
function requireDifferent(given: readonly PromptChange[]): void {
  const taken = new Set<string>();
  const take = (name: string, what: string) => {
    if (taken.has(name)) throw invalidField("prompts", `Field prompts must not have ${what} twice`);
    taken.add(name);
  };
  for (const { name, was, deploy = [] } of given) {
    for (const each of new Set([name, was ?? name])) take(each, each);
    for (const target of deploy) take(`${name}@${target.name}`, `${name}@${target.name}`);
  }
}

/** The prompts of a workspace by name, and their deployments by reference, as far as a set names them. */
type Known = { prompts: Map<string, Prompt>; deployments: Map<string, Deployment> };

async function findAll(
  { database }: Management,
  workspaceId: WorkspaceId,
  given: readonly PromptChange[],
): Promise<Known> {
  const names = JSON.stringify(given.flatMap(({ name, was }) => was === undefined ? [name] : [name, was]));
  const named = "select value from json_each(?)";
  const prompts = (await database.read(findPrompts(`workspace_id = ? and name in (${named})`, [workspaceId, names])))
    .map(toPrompt);
  const ids = JSON.stringify(prompts.map(({ id }) => id));
  const deployments = (await database.read(findDeployments(`prompt_id in (${named})`, [ids]))).map(toDeployment);
  return {
    prompts: new Map(prompts.map((prompt) => [prompt.name, prompt])),
    deployments: new Map(deployments.map((deployment) => [deployment.reference, deployment])),
  };
}

/** The prompt of a change, under its name or its previous one. */
const promptOf = ({ name, was }: PromptChange, { prompts }: Known): Prompt | undefined =>
  prompts.get(name) ?? prompts.get(was ?? name);

/** Throws if there is no room for the prompts and deployments that a set adds. */
async function requireRoomFor(
  management: Management,
  workspaceId: WorkspaceId,
  given: readonly PromptChange[],
  known: Known,
): Promise<void> {
  let prompts = 0, deployments = 0;
  for (const change of given) {
    const prompt = promptOf(change, known), { deploy = [] } = change;
    const isNew = ({ name }: Promotion) => prompt === undefined || !known.deployments.has(`${prompt.name}@${name}`);
    const added = deploy.filter(isNew).length;
    if (prompt !== undefined) await requireRoom(management, "deploymentsOfPrompt", prompt.id, added);
    else prompts++;
    deployments += added;
  }
  await requireRoom(management, "prompts", workspaceId, prompts);
  await requireRoom(management, "deployments", workspaceId, deployments);
}

/** Lists parts of a prompt and its deployments that have changed since the set was planned. */
function findMoved(change: PromptChange, known: Known): string[] {
  const prompt = promptOf(change, known);
  const found = prompt?.latestVersion ?? null;
  const own = found === change.ifLatest ? [] : [`${change.name} ${wordsOf("version", found, change.ifLatest)}`];
  const targets = (change.deploy ?? []).flatMap(({ name, ifRevision }) => {
    const reference = `${prompt?.name ?? change.name}@${name}`;
    const revision = known.deployments.get(reference)?.revision ?? null;
    return revision === ifRevision ? [] : [`${reference} ${wordsOf("revision", revision, ifRevision)}`];
  });
  const { archive = false, ifDeployments } = change;
  const revisions = new Map((ifDeployments ?? []).map(({ name, revision }) => [name, revision]));
  const live = !archive || ifDeployments === undefined ? [] : [...known.deployments.values()].flatMap(
    ({ promptId, name, reference, revision, archivedAt }) => {
      const seen = revisions.get(name) ?? null;
      const isAsSeen = promptId !== prompt?.id || archivedAt !== null || revision === seen;
      return isAsSeen ? [] : [`${reference} ${wordsOf("revision", revision, seen)}`];
    },
  );
  return [...own, ...targets, ...live];
}

/** `is at version 8, planned at 7` */
const wordsOf = (what: string, found: number | null, seen: number | null): string =>
  `${found === null ? "does not exist" : `is at ${what} ${found}`}, planned ${seen === null ? "as new" : `at ${seen}`}`;

type Planned = { changes: Change[]; statements: Statement[]; applied: Applied["prompts"][number] };

async function planOne(
  management: Management,
  workspaceId: WorkspaceId,
  change: PromptChange,
  known: Known,
): Promise<Planned> {
  const { name, archive = false, deploy = [], ifDeployments } = change;
  const content = contentOf(change), before = promptOf(change, known);
  const planned: Planned = { changes: [], statements: [], applied: undefined as never };
  const add = (changes: readonly (Change | undefined)[], statements: readonly Statement[]) => {
    planned.changes.push(...changes.filter((each) => each !== undefined));
    planned.statements.push(...statements);
  };
  if (before?.archivedAt && !archive) throw archived("Prompt", before.name);
  if (archive && (content !== undefined || deploy.length > 0)) {
    throw conflict(`Prompt ${name} cannot be archived and changed at once`, "conflict", "archive");
  }
  if (ifDeployments !== undefined && !archive) {
    throw invalidField("ifDeployments", "ifDeployments is for a prompt that is archived");
  }
  if (before !== undefined && before.name !== name) {
    const { change, statement } = await planRename(management, before, name);
    add([change], [statement]);
  }
  const push = await planContent(management, workspaceId, name, before, content);
  add([push.added], push.statements);
  if (archive && before !== undefined && before.archivedAt === null) {
    requireRole(management.caller, archivePrompt.role, `to archive ${before.name}`);
    const { changes, statements } = await planArchiving(management, before, true);
    add(changes, statements);
  }
  const { id, version } = push;
  const deployments: Applied["prompts"][number]["deployments"] = [];
  for (const target of deploy) {
    const wanted = target.version ?? version;
    if (before !== undefined && wanted !== version) await requireVersion(management, before.id, wanted);
    if (wanted > version) throw conflict(`Prompt ${name} has no version ${wanted}`, "conflict", "deploy");
    const deployment = before && known.deployments.get(`${before.name}@${target.name}`);
    if (deployment !== undefined) requireChangeable(management, deployment);
    if (deployment?.archivedAt) throw archived("Deployment", deployment.reference);
    const { changes, statements, result } = deployment === undefined
      ? settleNew(planDeployment({ id, name, workspaceId }, target.name, wanted, management.clock()))
      : await settlePromotion(management, deployment, wanted, wanted === version ? push.hash : undefined);
    add(changes, statements);
    deployments.push({ ...result, reference: `${name}@${result.name}` });
  }
  const isNewPrompt = before === undefined;
  planned.applied = { id, name, version, isNewPrompt, isNew: push.isNew, isArchived: archive, deployments };
  return planned;
}

/** Content in a change, which has both title and messages, or neither. */
function contentOf(
  { title, messages, description, llmConfig, declarations, note }: PromptChange,
): PromptInput | undefined {
  if (title === undefined && messages === undefined) return undefined;
  if (title === undefined || messages === undefined) {
    throw invalidField(title === undefined ? "title" : "messages", "A version needs both a title and messages");
  }
  return { title, messages, description, llmConfig, declarations, note };
}

/** Plans the new version of a prompt, if a change has one. */
async function planContent(
  management: Management,
  workspaceId: WorkspaceId,
  name: string,
  before: Prompt | undefined,
  content: PromptInput | undefined,
) {
  if (before === undefined) {
    if (content === undefined) {
      throw conflict(`Prompt ${name} is new, so it needs a title and messages`, "conflict", "title");
    }
    const { pushed: { id, version }, added, content: { hash }, statements } = await planPrompt(
      management,
      workspaceId,
      {
        ...content,
        name,
      },
    );
    return { id, version, hash, isNew: true, added, statements };
  }
  const { id, latestVersion: version } = before;
  if (content === undefined) return { id, version, hash: undefined, isNew: false, added: undefined, statements: [] };
  const { pushed, added, content: { hash }, statements } = await planVersion(management, before, content);
  return { id, version: pushed.version, hash, isNew: pushed.isNew, added, statements };
}
