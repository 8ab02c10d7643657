// `plan` and `apply`: what a folder of prompts would change in the ledger, and changing it.
import { conflict, invalid, Refusal } from "../../common/errors.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { indent, jsonText, readItems, stringify } from "../../common/json-text.ts";
import { findBuried, makePlan, maxReleaseSet, readKeptPlan, toReleaseSet } from "../../files/plan.ts";
import type { Plan } from "../../files/plan.ts";
import { applyPrompts } from "../../management/release/apply.ts";
import type { Applied, PromptChange, ReleaseSet } from "../../management/release/apply.ts";
import { describeRole } from "../../management/kernel/declare.ts";
import { pathIn } from "../../runtime/folder.ts";
import { isShallow } from "../../runtime/git.ts";
import { nameOfFile } from "../../runtime/terminal.ts";
import { describeRequest } from "../nouns/changes.ts";
import type { Call, Command, CommandContext, Outcome } from "../frame/command.ts";
import { userOf } from "../frame/command.ts";
import { committedIn } from "../frame/committed.ts";
import { countsOf, describeCounts, formatPlan, pathsOnGithub, toAnnotations, writeStepSummary } from "./plan-text.ts";
import { readLedger } from "./ledger-prompts.ts";
import { findOrigin } from "../frame/origin.ts";
import { readUsage, remote } from "../frame/parameters.ts";
import { readRepository, refuseFaults } from "./repository.ts";
import { findWorkspace } from "../frame/workspace.ts";

/** The plan of a folder, and the release set that does it. */
type Planned = { plan: Plan; workspaceId: WorkspaceId; folder: string; changes: PromptChange[] };

async function planFolder({ args, call, terminal }: CommandContext): Promise<Planned> {
  const { manifest, folder, prompts, faults } = await readRepository({ args, terminal });
  refuseFaults(faults, terminal);
  const workspaceId = args.findText<WorkspaceId>("workspace") ?? await findWorkspace(call, manifest.workspace);
  const ledger = await readLedger(call, workspaceId, (read) => terminal.report(`Read ${read} prompts of the ledger`));
  const plan = await makePlan(
    prompts,
    { ...manifest, deploy: chosenOf(manifest.deploy, args.texts("deploy")) },
    ledger,
    {
      prunes: args.has("prune"),
      isCommitted: committedIn(folder),
      report: (done) => terminal.report(`Compared ${done} of ${prompts.length} prompts`),
    },
  );
  if (plan.faults.length > 0) throw conflict(plan.faults.join("\n"));
  return { plan, workspaceId, folder, changes: toReleaseSet(plan, args.findText("note")) };
}

/** The deployments that `--deploy` chooses, or all of them. An empty name chooses none. */
function chosenOf<Target>(deploy: ReadonlyMap<string, Target>, names: readonly string[]): ReadonlyMap<string, Target> {
  if (names.length === 0) return deploy;
  return new Map(
    names.filter((name) => name !== "").map((name) => {
      const target = deploy.get(name);
      if (target === undefined) throw invalid(`--deploy ${name} is not under deploy in promptledger.yml`);
      return [name, target];
    }),
  );
}

async function plan(context: CommandContext): Promise<Outcome> {
  const { args, terminal } = context;
  const { plan, workspaceId, folder, changes } = await planFolder(context);
  const differs = args.has("check") && (changes.length > 0 || countsOf(plan).changedElsewhere > 0);
  const out = args.findText("out"), buried = findBuried(plan);
  if (out !== undefined) {
    requireOneSet(changes, "apply the folder with --each");
    const origin = await findOrigin(terminal.env, folder, args.findText("source"));
    const file = await terminal.create(out, { force: true });
    const kept = { workspaceId, prompts: changes, origin, buried: buried.length === 0 ? undefined : buried };
    await file.write(`${indent(stringify(kept))}\n`);
    await file.finish();
  }
  const isForGithub = args.findText("format") === "github";
  if (isForGithub) await writeStepSummary(plan, terminal);
  const toPath = await pathsOnGithub(folder, terminal);
  return {
    data: { workspaceId, counts: countsOf(plan), prompts: plan.prompts },
    text: () =>
      isForGithub ? toAnnotations(plan, (file) => toPath(pathIn(folder, file))) : formatPlan(plan, terminal.isColoured),
    isAnnotated: isForGithub,
    note: out === undefined
      ? changes.length > maxReleaseSet
        ? `One transaction takes at most ${maxReleaseSet} prompts. apply --each makes the changes a prompt at a time`
        : undefined
      : `Apply exactly this with: promptledger apply ${out}${
        buried.length === 0 ? "" : ` --force, which replaces ${buried.join("; ")}`
      }`,
    differs,
  };
}

async function apply(context: CommandContext): Promise<Outcome> {
  const { args, call, terminal } = context;
  const path = args.findText("PLAN");
  const set = path === undefined ? await readyFolder(context) : await readPlan(context, path);
  if (set === undefined) return { failed: true, note: "Nothing was changed" };
  const changes = JSON.parse(set.prompts.text) as unknown[];
  if (changes.length === 0) return { data: { prompts: [], changes: 0 }, text: () => "", note: "Nothing to do" };
  const actor = args.findText("actor") ?? set.actor ?? userOf(terminal);
  const release = { ...set, actor, note: args.findText("note") ?? set.note };
  if (args.has("each")) return await applyEach(call, release, context);
  requireOneSet(changes, "use --each, which is not all or none");
  return describeApplied(
    await call(applyPrompts, release).catch((error) => {
      throw withWayOn(error);
    }),
  );
}

/** Adds the alternatives to an error, if the role is missing for a part only. */
function withWayOn(error: unknown): unknown {
  const isInPart = error instanceof Refusal && error.code === "role_required" && error.field !== undefined;
  if (!isInPart) return error;
  const remedy =
    'For versions alone, plan with --deploy "", without --prune and renames. For the other prompts, apply with --each';
  return new Refusal(error.kind, `${error.message}. ${remedy}`, error.code);
}

function requireOneSet({ length }: { length: number }, remedy: string): void {
  if (length <= maxReleaseSet) return;
  throw conflict(`The plan changes ${length} prompts, and a release set has at most ${maxReleaseSet}: ${remedy}`);
}

/** The release set of the folder, after the user at the terminal agrees; undefined if not. */
async function readyFolder(context: CommandContext): Promise<ReleaseSet | undefined> {
  const { args, terminal } = context;
  const { plan, workspaceId, folder, changes } = await planFolder(context);
  terminal.say(formatPlan(plan, false));
  const changesLive = plan.prompts.some(({ promotions, archives }) => promotions.length > 0 || archives !== undefined);
  if (!await isAgreed(context, { buried: findBuried(plan), changesLive, consequence: describeCounts(plan), folder })) {
    return undefined;
  }
  const origin = await findOrigin(terminal.env, folder, args.findText("source"));
  return { workspaceId, prompts: jsonText(stringify(changes)), origin };
}

/**
 * True if a release set may be applied. Changes made elsewhere are replaced only with `--force`, or if the user at the
 * terminal agrees. `consequence` is part of the question.
 */
async function isAgreed(
  { args, terminal }: CommandContext,
  { buried, changesLive, consequence, folder }: {
    buried: readonly string[];
    changesLive: boolean;
    consequence: string;
    folder?: string;
  },
): Promise<boolean> {
  if (args.has("force")) return true;
  const ask = args.has("yes") ? undefined : terminal.ask;
  if (buried.length > 0 && ask === undefined) {
    const isUnknown = folder !== undefined && await isShallow(folder);
    throw conflict(
      `Changed elsewhere, and in no commit: ${
        buried.join("; ")
      }. Pull it (with --live what is live), commit it and plan ` +
        `again, or apply with --force${isUnknown ? ". This clone has no earlier commits: fetch them to compare" : ""}`,
    );
  }
  return ask === undefined || !changesLive && buried.length === 0 || await ask(`Apply this? ${consequence}`);
}

/** The release set of a saved plan; undefined if the user does not agree to the changes it replaces. */
async function readPlan(context: CommandContext, path: string): Promise<ReleaseSet | undefined> {
  const { args, terminal } = context;
  for (const option of ["dir", "deploy", "prune", "source"]) {
    if (args.texts(option).length > 0) throw invalid(`--${option} is for planning: ${path} says what to do`);
  }
  const { buried = [], ...set } = readKeptPlan(await terminal.read(path), nameOfFile(path));
  const workspaceId = args.findText<WorkspaceId>("workspace") ?? set.workspaceId;
  if (workspaceId !== set.workspaceId) throw conflict(`${path} was planned for another workspace, ${set.workspaceId}`);
  const consequence = `It replaces ${buried.join("; ")}`;
  return await isAgreed(context, { buried, changesLive: false, consequence }) ? set : undefined;
}

/** Applies a release set prompt by prompt. A refused one does not stop the others. */
async function applyEach(call: Call, set: ReleaseSet, { terminal }: CommandContext): Promise<Outcome> {
  const items = readItems(set.prompts.text);
  const applied: Applied = { prompts: [], changes: 0 };
  const refused: string[] = [];
  for (const [nth, item] of items.entries()) {
    terminal.report(`Applied ${nth} of ${items.length} prompts`);
    try {
      const one = await call(applyPrompts, { ...set, prompts: jsonText(`[${item}]`) });
      applied.prompts.push(...one.prompts);
      applied.changes += one.changes;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { name } = JSON.parse(item) as { name: string };
      refused.push(`${name}: ${error.message}`);
    }
  }
  const outcome = describeApplied(applied);
  return {
    ...outcome,
    data: { ...applied, refused },
    note: [
      applied.changes === 0 ? "Nothing had to be changed" : "Applied, each prompt in its own transaction",
      ...requestsIn(applied).map(describeRequest),
      ...refused,
    ].join("\n"),
    failed: refused.length > 0,
  };
}

/** The change requests that wait for an approval. */
const requestsIn = ({ prompts }: Applied) =>
  prompts.flatMap(({ deployments }) => deployments.flatMap(({ request }) => request ?? []));

function describeApplied(applied: Applied): Outcome {
  const { prompts, changes } = applied;
  const live = prompts.flatMap(({ deployments }) => deployments.filter(({ changed }) => changed));
  const requests = requestsIn(applied);
  const lines = [
    ...prompts.filter(({ isNew, isNewPrompt }) => isNew || isNewPrompt).map(({ name, version }) =>
      `${name} version ${version}`
    ),
    ...live.map(({ reference, currentVersion }) => `${reference} serves version ${currentVersion}`),
    ...prompts.filter(({ isArchived }) => isArchived).map(({ name }) => `${name} is archived`),
  ];
  const notes = [
    changes === 0 ? "Nothing had to be changed" : "Applied, all in one transaction",
    ...requests.map(describeRequest),
  ];
  return {
    data: applied,
    text: () => lines.map((line) => `${line}\n`).join(""),
    note: notes.join("\n"),
    differs: requests.length > 0,
  };
}

const explanations = {
  workspace: "Its id or name. Default: PROMPTLEDGER_WORKSPACE, or what promptledger.yml names, or else the only one",
  deploy: 'Only this one of the deployments in promptledger.yml. With "", none of them: only versions',
  prune: "Archive prompts that have no file",
  out: "Write the plan to this file, for apply",
  check: "Exit with 3 if files and ledger differ",
  format: "With github, print annotations and write a GitHub Actions step summary",
  source: "The commit that the change comes from. Default: from CI or git",
  each: "Apply each prompt separately, so that a refused one does not block the others",
  force: "Replace changes made elsewhere, without asking",
  yes: "Do not ask for confirmation",
  note: "The reason for the change",
};

export const releaseCommands: Command[] = [
  {
    ...readUsage(
      `plan [--dir DIR] [--workspace WORKSPACE] [--deploy NAME]... [--prune] [--out FILE] [--check] ` +
        `[--format text|github] [--source COMMIT] [--note TEXT]${remote}`,
      {},
      explanations,
    ),
    summary: "Show what the prompt files of a folder would change, and what was changed elsewhere",
    role: "viewer",
    run: plan,
  },
  {
    ...readUsage(
      `apply [PLAN] [--dir DIR] [--workspace WORKSPACE] [--deploy NAME]... [--prune] [--each] [--force] [--yes] ` +
        `[--source COMMIT] [--note TEXT] [--actor NAME]${remote}`,
      {},
      { ...explanations, PLAN: "A plan written by plan --out. Default: plan the folder now" },
    ),
    summary: "Apply the prompt files of a folder, or a plan, in one transaction: all or nothing",
    role: describeRole(applyPrompts),
    run: apply,
  },
];
