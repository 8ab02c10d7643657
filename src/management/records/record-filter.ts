// Filter of records to list, export or count. Every operation on records takes this filter, for one deployment or for
// those of a workspace.
import type { Amount } from "../../support/decimal.ts";
import { readAmount } from "../../support/decimal.ts";
import { notFound } from "../../common/errors.ts";
import type { DeploymentId, WorkspaceId } from "../../common/ids.ts";
import { numberPattern } from "../../common/json-text.ts";
import { anyName } from "../../feedback/feedback-scan.ts";
import type { FeedbackCondition } from "../../feedback/feedback-scan.ts";
import { findWords, readNames } from "../../feedback/feedback-words.ts";
import type { Word } from "../../feedback/feedback-words.ts";
import { findLogRange } from "../../ledger/blocks.ts";
import { noCosting } from "../../log/scan.ts";
import type { RecordFilter, ScanOptions } from "../../log/scan.ts";
import { feedbackNamePattern, toKept } from "../../schema/feedback.ts";
import { option, refined } from "../../schema/struct.ts";
import type { Members } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { readCosting } from "../prompts/costing.ts";
import { listOfWorkspace, requireDeployment } from "../deployments/deployments.ts";
import type { Deployment } from "../deployments/deployments.ts";
import type { Store } from "../kernel/operation.ts";
import { failuresOf, readStatuses, requireFailures, statusList } from "../kernel/statuses.ts";
import { requireWorkspace } from "../kernel/workspaces.ts";
import type { Workspace } from "../kernel/workspaces.ts";

/** Input members of operations that read a part of the log. */
export const timeRange = {
  from: option(v.timestamp, "Only from this time on, in Unix milliseconds"),
  to: option(v.timestamp, "Only before this time, in Unix milliseconds"),
};
export const rollout = option(
  v.rolloutReference,
  "Only with a version that this rollout chose: its id, or NAME@DEPLOYMENT for the newest one",
);
export const promptVersion = option(v.positive, "Only with this version of the prompt");

const amount = v.matching("a decimal text of USD such as 0.15", String.raw`^\d{1,12}(\.\d{1,20})?$`);

/** One or several conditions, a line each. */
const conditions = (words: string, condition: string, examples: string[]) =>
  refined(
    v.matching(words, String.raw`^${condition}(\n${condition})*$`, { examples }, "u"),
    (value) => [...value].length <= 1000,
    "at most 1000 characters",
    { maxLength: 1000 },
  );
const where = conditions(
  "a path and a value, as in trace_id=4bf92f35",
  String.raw`[^=\n\u0000]{1,200}=[^\n\u0000]*`,
  ["trace_id=4bf92f35", "tier=flex\nregion=eu"],
);

const feedback = conditions(
  "a name, one of = != < <= > >=, and true, false, a number or a label, as in thumb=false or correctness<0.5",
  String.raw`${feedbackNamePattern} {0,9}(!?=[^\n\u0000]+|[<>]=? {0,9}${numberPattern})`,
  ["thumb=false", "correctness<0.5\ntone!=kind"],
);
const withoutFeedback = v.matching("a name of feedback, or * for any", String.raw`^(\*|${feedbackNamePattern})$`, {
  examples: ["*", "thumb"],
});

/** Input members by which records are filtered. */
export const recordFilter = {
  sessionId: option(v.clientName, "Only records of this session"),
  status: option(statusList, "Only records with one of these statuses: codes, or names that the workspace gave them"),
  failures: option(v.boolean, "Only records whose status counts as a failure in the workspace"),
  promptVersion,
  rollout,
  ...timeRange,
  keyId: option(v.keyId, "Only records that this API key submitted"),
  model: option(v.needle, "Only records of this model. Case does not matter"),
  slowerThan: option(v.period, "Only records with a latency above this, in milliseconds"),
  moreTokensThan: option(v.count, "Only records with more input and output tokens together"),
  costlierThan: option(amount, "Only records that cost more than this, in USD"),
  where: option(
    where,
    "Only records with this value at this path of additional_properties, as in usage.tier=flex. Of several, one per " +
      "line, all must hold",
  ),
  text: option(v.needle, "Only records with this text in the input or the output. Case does not matter"),
  feedback: option(
    feedback,
    "Only records with such feedback, as in thumb=false or correctness<0.5, of any author. Of several, one per line, " +
      "all must hold",
  ),
  withoutFeedback: option(
    withoutFeedback,
    "Only records without feedback under this name, or * for records without any feedback",
  ),
};

/** The deployments of a workspace whose records are read. */
export type Scope = { workspace: Workspace; deployments: Deployment[] };

/** Input members of operations on the records of a workspace. */
export const inWorkspace = {
  workspaceId: v.workspaceId,
  deployId: option(v.deploymentReference, "Only records of this deployment"),
};

export async function scopeOfDeployment(
  store: Store,
  deployId: DeploymentId,
): Promise<Scope & { deployments: [Deployment] }> {
  const deployment = await requireDeployment(store, deployId);
  return { workspace: await requireWorkspace(store, deployment.workspaceId), deployments: [deployment] };
}

/** All deployments of a workspace, archived ones too, or the one in the input. */
export async function scopeOfWorkspace(
  store: Store,
  { workspaceId, deployId }: { workspaceId: WorkspaceId; deployId?: DeploymentId | undefined },
): Promise<Scope> {
  const [workspace, deployments] = await Promise.all([
    requireWorkspace(store, workspaceId),
    deployId === undefined
      ? listOfWorkspace(store, workspaceId)
      : requireDeployment(store, deployId).then((one) => [one]),
  ]);
  if (deployId !== undefined && deployments[0]?.workspaceId !== workspaceId) throw notFound("Deployment", deployId);
  return { workspace, deployments };
}

export const deployIdsOf = ({ deployments }: Scope): DeploymentId[] => deployments.map(({ id }) => id);

type Input = Members<typeof recordFilter>;

/** Converts input to a filter of the ledger. Names of statuses are those of the workspace. */
export async function toFilter(
  { database }: Store,
  scope: Scope,
  { sessionId, status, failures, promptVersion, rollout, costlierThan, where, feedback, withoutFeedback, ...rest }:
    & Input
    & Pick<RecordFilter, "sessionContains">,
): Promise<RecordFilter> {
  const { workspace } = scope;
  const filter: RecordFilter = { ...rest, rolloutId: rollout, deployIds: deployIdsOf(scope) };
  if (sessionId !== undefined) filter.sessionIds = [sessionId];
  if (promptVersion !== undefined) filter.promptVersions = [promptVersion];
  const { statuses: names } = workspace;
  const wanted = status === undefined ? undefined : readStatuses(status, names);
  const failing = failures ? requireFailures(names) : undefined;
  if (wanted ?? failing) filter.statuses = wanted?.filter((code) => failing?.includes(code) ?? true) ?? failing;
  if (costlierThan !== undefined) filter.costlierThan = readAmount(costlierThan) as Amount;
  filter.where = where?.split("\n").map((line) => {
    const at = line.indexOf("=");
    return { path: line.slice(0, at), value: line.slice(at + 1) };
  });
  const conditions = feedback?.split("\n").map(splitCondition);
  const words = await findWords(database, workspace.id, [
    ...conditions?.flatMap(({ name, text }) => [name, text]) ?? [],
    ...withoutFeedback === undefined ? [] : [withoutFeedback],
  ]);
  filter.feedback = conditions?.map((condition) => toCondition(condition, words));
  if (withoutFeedback === anyName) filter.withoutFeedback = anyName;
  else if (withoutFeedback !== undefined) {
    filter.withoutFeedback = { nameId: nameIn(words, withoutFeedback)?.id ?? null };
  }
  return filter;
}

/** `correctness<0.5` or `correctness < 0.5` in its parts. */
type ConditionText = { name: string; comparison: FeedbackCondition["comparison"]; text: string };

function splitCondition(line: string): ConditionText {
  const [, name, before, comparison, value] = /^([^!=<> ]+)( *)([!<>]=|[=<>])(.*)$/su.exec(line)!;
  // A label may begin with a space.
  const text = before === "" && !/^[<>]/.test(comparison!) ? value! : value!.trimStart();
  return { name: name!, comparison: comparison as FeedbackCondition["comparison"], text };
}

/** A name of the workspace. Other workspaces may have feedback under the same word. */
function nameIn(words: ReadonlyMap<string, Word>, name: string): Word | undefined {
  const word = words.get(name);
  return word?.kind === null ? undefined : word;
}

/** A number is compared as it would be kept. Labels are equal or not. */
function toCondition({ name, comparison, text }: ConditionText, words: ReadonlyMap<string, Word>): FeedbackCondition {
  const { id: nameId = null, kind = null } = nameIn(words, name) ?? {};
  const isEquality = comparison === "=" || comparison === "!=";
  if (kind === "label") return { nameId, comparison, value: isEquality ? words.get(text)?.id ?? null : null };
  const isNumber = new RegExp(`^${numberPattern}$`).test(text);
  const value = isNumber ? toKept(Number(text)) as number : { true: 1, false: 0 }[text];
  return { nameId, comparison, value: value ?? null };
}

/** Scan of the ledger to list records. */
export async function toScan(store: Store, scope: Scope, input: Input): Promise<ScanOptions> {
  const filter = await toFilter(store, scope, input);
  const isPriced = filter.costlierThan !== undefined || filter.model !== undefined;
  return { filter, costing: isPriced ? await readCosting(store.database, scope) : noCosting };
}

/**
 * Scan of the ledger to count records, with their costs and failures, and with their feedback: all of it, or that under
 * some names, however many others there are.
 */
export async function toCount(
  store: Store,
  scope: Scope,
  input: Input,
  names: readonly string[] | "all",
): Promise<ScanOptions> {
  const { database } = store, { workspace } = scope;
  const filter = await toFilter(store, scope, input);
  const failures = new Set(failuresOf(workspace.statuses));
  const isAll = names === "all";
  const [costing, ofNames, range] = await Promise.all([
    readCosting(database, scope),
    isAll || names.length > 0 ? readNames(database, workspace.id, isAll ? undefined : names) : new Map(),
    findLogRange(database, filter),
  ]);
  return { filter, costing, failures, reads: { feedback: { names: ofNames, isAll } }, range };
}
