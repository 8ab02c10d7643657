// Compares a folder of prompts with a ledger: the effect of applying the folder, and changes made elsewhere. Applying a
// plan sends the service a release set, at once or from a file.
import { ReleaseSet } from "../management/release/apply.ts";
import type { PromptChange } from "../management/release/apply.ts";
import { diffPrompts, variablesOf } from "../management/prompts/prompt-text.ts";
import type { PromptContent } from "../management/prompts/prompt-text.ts";
import { text } from "../management/kernel/values.ts";
import { readObject } from "../schema/parse.ts";
import { exactly, listOf, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import { canonicalOf } from "./formats/content.ts";
import type { PromptFile } from "./folder.ts";
import type { Manifest } from "./manifest.ts";

/** Author, time and reason of a change. `isFromFiles` if a release set from a repository made it. */
export type Authorship = {
  actor: string;
  source: string | null;
  note: string;
  createdAt: number;
  isFromFiles: boolean;
};

export type LedgerVersion = { version: number; content: PromptContent } & Authorship;

export type LedgerDeployment = {
  name: string;
  currentVersion: number;
  revision: number;
  isProtected: boolean;
  isArchived: boolean;
  /** The rollout in progress. */
  rollout: { version: number } | null;
  /** Finds who made the current version live. */
  findPromotion(): Promise<Authorship>;
};

/** A prompt in the ledger, with its newest version. `findVersion` reads another one. */
export type LedgerPrompt = {
  name: string;
  newest: LedgerVersion;
  isArchived: boolean;
  deployments: LedgerDeployment[];
  findVersion(version: number): Promise<LedgerVersion>;
};

/** A change of the variables that applications must fill in. */
export type VariableChange = { added: readonly string[]; removed: readonly string[] };

/** A version that would become live. `from` is undefined for a deployment that would be created. */
export type Promotion = {
  deployment: string;
  from: number | undefined;
  to: number;
  revision: number | null;
  isProtected: boolean;
  variables: VariableChange;
  /** The candidate of the rollout that it would end. */
  endsRollout?: number | undefined;
  /** Author of the live version, unless it was released from files or a commit since then has its content. */
  drift?: Authorship | undefined;
};

/** A change made elsewhere: a version newer than the files, or a prompt that is in no file. */
export type Drift = { kind: "version" | "prompt"; version: number } & Authorship;

/** The effect of applying the folder on a prompt. None if its only members are `name` and `base`. */
export type PromptPlan = {
  name: string;
  /** The file, as a path in the folder. Undefined for a prompt that is in no file. */
  path?: string | undefined;
  /** The name that the prompt had before. */
  was?: string | undefined;
  /** The newest version that the plan has seen, or null for a new prompt. */
  base: number | null;
  /** The version that would be created, and its diff from the newest one. */
  push?: { version: number; content: PromptContent; diff: string } | undefined;
  promotions: Promotion[];
  /** The deployments that would be archived with the prompt, if it is. */
  archives?: Pick<LedgerDeployment, "name" | "revision">[] | undefined;
  drift?: Drift | undefined;
  /** Of a prompt that is in no file, the file of a new prompt with its content: it looks like a rename. */
  sameAs?: string | undefined;
};

export type Plan = {
  prompts: PromptPlan[];
  /** Reasons why the plan cannot be applied, each a sentence that names the prompt. */
  faults: string[];
};

/** True if a plan changes a prompt. */
export const isChange = ({ push, was, promotions, archives }: PromptPlan): boolean =>
  push !== undefined || was !== undefined || promotions.length > 0 || archives !== undefined;

export type PlanOptions = {
  /** True if prompts that are in no file are archived. */
  prunes?: boolean;
  /** True if a commit since a time, in ms, has this content in the file: then its author has seen the change. */
  isCommitted?(path: string, content: PromptContent, since: number): Promise<boolean>;
  /** Receives the number of files compared so far. */
  report?(done: number): void;
};

const atOnce = 32; // files, whose questions to the ledger and to git are answered together

/** Compares the files with the ledger. */
export async function makePlan(
  files: readonly PromptFile[],
  { deploy, pinned }: Pick<Manifest, "deploy" | "pinned">,
  ledger: ReadonlyMap<string, LedgerPrompt>,
  { prunes = false, isCommitted = () => Promise.resolve(false), report = () => {} }: PlanOptions = {},
): Promise<Plan> {
  const plan: Plan = { prompts: [], faults: [] };
  const claimed = new Map<string, string>(); // the path of a file by the name of its prompt in the ledger
  for (let done = 0; done < files.length; done += atOnce) {
    report(done);
    for (const { prompts, faults } of await Promise.all(files.slice(done, done + atOnce).map(planNext))) {
      plan.prompts.push(...prompts);
      plan.faults.push(...faults);
    }
  }
  report(files.length);
  const added = new Map(
    plan.prompts.flatMap(({ name, path, base, push }) =>
      base === null && push !== undefined ? [[contentKey(name, push.content), path] as const] : []
    ),
  );
  for (const { name, newest, isArchived, deployments } of ledger.values()) {
    if (claimed.has(name) || isArchived) continue;
    const live = deployments.filter((each) => !each.isArchived).map(({ name, revision }) => ({ name, revision }));
    const archives = prunes ? live : undefined;
    const drift = driftOf("prompt", newest), sameAs = added.get(contentKey(name, newest.content));
    plan.prompts.push({ name, base: newest.version, promotions: [], archives, drift, sameAs });
  }
  return plan;

  async function planNext(file: PromptFile): Promise<Plan> {
    const prompt = ledger.get(file.name) ?? ledger.get(file.was ?? file.name);
    const other = prompt && claimed.get(prompt.name);
    if (prompt !== undefined) claimed.set(prompt.name, file.path);
    const faults: string[] = [], refuse = (fault: string) => void faults.push(fault);
    if (other !== undefined) {
      refuse(`${other} and ${file.path} are both ${prompt!.name}: apply the rename first, and then add the other file`);
    } else if (prompt?.isArchived) refuse(`${prompt.name} is archived: unarchive it, or remove ${file.path}`);
    else return { prompts: [await planFile(file, prompt, wantedOf(file.name), isCommitted, refuse)], faults };
    return { prompts: [], faults };
  }

  /** Versions by deployment: a number, or the newest one. */
  function wantedOf(name: string): Map<string, number | "latest"> {
    const wanted = new Map<string, number | "latest">();
    for (const [deployment, target] of deploy) {
      const version = target === "latest" ? target : pinned.get(deployment)?.get(name);
      if (version !== undefined) wanted.set(deployment, version);
    }
    return wanted;
  }
}

async function planFile(
  { path, name, content }: PromptFile,
  prompt: LedgerPrompt | undefined,
  wanted: ReadonlyMap<string, number | "latest">,
  isCommitted: NonNullable<PlanOptions["isCommitted"]>,
  refuse: (fault: string) => void,
): Promise<PromptPlan> {
  const { newest } = prompt ?? {};
  const isSame = newest !== undefined && canonicalOf(newest.content) === canonicalOf(content);
  const version = newest === undefined ? 1 : isSame ? newest.version : newest.version + 1;
  const plan: PromptPlan = { name, path, base: newest?.version ?? null, promotions: [] };
  if (prompt !== undefined && prompt.name !== name) plan.was = prompt.name;
  if (!isSame) plan.push = { version, content, diff: diffOf(name, newest, version, content) };
  if (!isSame && newest !== undefined && !await isSeen(newest.content, newest)) plan.drift = driftOf("version", newest);
  for (const [deployment, target] of wanted) {
    const to = target === "latest" ? version : target;
    if (to > version) {
      refuse(`${name}@${deployment} is pinned to version ${to}, which does not exist`);
      continue;
    }
    const known = prompt?.deployments.find((each) => each.name === deployment);
    if (known?.isArchived) refuse(`${name}@${deployment} is archived`);
    else if (known?.currentVersion !== to) {
      const contentOf = async (wanted: number) =>
        wanted === version ? content : (await prompt!.findVersion(wanted)).content;
      const live = known && await contentOf(known.currentVersion);
      // Replacing the newest version is expected unless it was made elsewhere.
      const isExpected = target === "latest" && known?.currentVersion === newest?.version && plan.drift === undefined;
      const promoted = isExpected ? undefined : await known?.findPromotion();
      plan.promotions.push({
        ...{ deployment, to, from: known?.currentVersion, revision: known?.revision ?? null },
        isProtected: known?.isProtected ?? false,
        variables: compareNames(
          live === undefined ? [] : variablesOf(live.messages),
          variablesOf((await contentOf(to)).messages),
        ),
        endsRollout: known?.rollout?.version,
        drift: promoted === undefined || await isSeen(live!, promoted) ? undefined : promoted,
      });
    }
  }
  return plan;

  /** True if the files have a content made elsewhere, or had it since. */
  async function isSeen(made: PromptContent, { isFromFiles, createdAt }: Authorship): Promise<boolean> {
    return isFromFiles || canonicalOf(made) === canonicalOf(content) || await isCommitted(path, made, createdAt);
  }
}

/** A text that is equal for prompts with equal contents. A title that is the name counts as empty. */
const contentKey = (name: string, { title, ...content }: PromptContent): string =>
  canonicalOf({ ...content, title: title === name ? "" : title });

const driftOf = (kind: Drift["kind"], { content: _, ...version }: LedgerVersion): Drift => ({ kind, ...version });

const diffOf = (name: string, newest: LedgerVersion | undefined, version: number, content: PromptContent): string =>
  newest === undefined ? "" : diffPrompts(
    { label: `${name} ${newest.version}`, content: newest.content },
    { label: `${name} ${version}`, content },
  );

export const compareNames = (was: readonly string[], is: readonly string[]): VariableChange => ({
  added: is.filter((name) => !was.includes(name)),
  removed: was.filter((name) => !is.includes(name)),
});

/** Maximum number of prompts in one operation. */
export const maxReleaseSet = 200;

/** The changes of a plan, for each prompt that changes. */
export const toReleaseSet = ({ prompts }: Plan, note?: string): PromptChange[] =>
  prompts.filter(isChange).map((prompt) => toPromptChange(prompt, note));

const toPromptChange = (
  { name, was, base, push, promotions, archives }: PromptPlan,
  note: string | undefined,
): PromptChange => ({
  name,
  ...(was === undefined ? {} : { was }),
  ifLatest: base,
  ...(push === undefined ? {} : { ...push.content, ...(note === undefined ? {} : { note }) }),
  ...(archives === undefined ? {} : { archive: true, ifDeployments: archives }),
  ...(promotions.length === 0 ? {} : {
    deploy: promotions.map(({ deployment, to, revision }) => ({ name: deployment, version: to, ifRevision: revision })),
  }),
});

/** Changes made elsewhere that a plan would replace: `version 2 of support/chat`. */
export const findBuried = ({ prompts }: Plan): string[] =>
  prompts.flatMap(({ name, drift, push, promotions }) => [
    ...(drift?.kind === "version" && push !== undefined ? [`version ${drift.version} of ${name}`] : []),
    ...promotions.filter(({ drift, from }) => drift !== undefined && from !== undefined)
      .map(({ deployment, from }) => `version ${from} that ${name}@${deployment} serves`),
  ]);

/** A plan in a file: the release set, and the changes that it would replace, if any. */
const KeptPlan = exactly({ ...ReleaseSet.schema, buried: optional(listOf(text)) });
type KeptPlan = Infer<typeof KeptPlan>;

/** Reads a plan. `name` names the file in messages. */
export const readKeptPlan = (source: string, name: string): KeptPlan => readObject(KeptPlan, source, name);
