// What the operations answer with, as it stands in JSON: the nouns of the domain.
import { described, exactly, listOf, named, nullable, object, oneOf, optional } from "../schema/struct.ts";
import { DiagnosisContent, LlmConfig, Messages, quotaState } from "../schema/serving.ts";
import * as v from "../schema/values.ts";

const at = v.timestamp;

const workspace = {
  id: v.text,
  name: v.text,
  monthlyLimit: described(v.count, "Accepted requests that it has a month; 0 accepts none"),
  upgradeUrl: described(v.webUrl, "What clients are told whose quota is used, or null"),
  createdAt: at,
};
export const Workspace = named("Workspace", exactly(workspace));

const apiKey = {
  id: v.text,
  workspaceId: v.text,
  name: v.text,
  prefix: described(v.text, "The first characters of the secret, to tell keys apart"),
  createdAt: at,
  expiresAt: described(v.moment, "The first moment it is refused, in Unix milliseconds; null where it never expires"),
  revokedAt: described(v.moment, "When it was revoked, in Unix milliseconds, or null"),
  rotatedAt: described(v.moment, "When its secret was last replaced, in Unix milliseconds, or null"),
  overlapEndsAt: described(v.moment, "Until when the secrets before it stay valid, in Unix milliseconds, or null"),
  lastUsedAt: described(
    v.moment,
    "When a request was last accepted under it, to the hour, in Unix milliseconds, or null",
  ),
};
export const ApiKey = named("ApiKey", exactly(apiKey));
export const NewApiKey = named(
  "NewApiKey",
  exactly({ ...apiKey, key: described(v.text, "The secret; no other answer shows it") }),
);

export const Prompt = named(
  "Prompt",
  exactly({ id: v.text, workspaceId: v.text, title: v.text, latestVersion: v.positive, createdAt: at }),
);
const version = {
  id: described(v.text, "The id of the prompt"),
  version: v.positive,
  title: v.text,
  description: v.text,
  messages: Messages,
  llmConfig: LlmConfig,
  note: described(v.text, "Why the version was made; may be empty"),
  createdAt: at,
  variables: described(listOf(v.text), "The names of the {{variables}} in its messages"),
};
export const PromptVersion = named("PromptVersion", exactly(version));
const pushed = { ...version, isNew: described(v.isTrue, "Whether this push made the version") };
export const PushResult = named("PushResult", exactly(pushed));
export const VersionSummary = named(
  "PromptVersionSummary",
  exactly({ version: v.positive, title: v.text, note: version.note, createdAt: at }),
);
export const RenderedPrompt = named(
  "RenderedPrompt",
  exactly({ id: version.id, version: v.positive, messages: Messages }),
);
export const PromptDiff = named(
  "PromptDiff",
  exactly({
    id: version.id,
    from: v.positive,
    to: v.positive,
    diff: described(v.text, "A unified diff, for people; empty where nothing differs"),
  }),
);

const deployment = {
  id: v.text,
  workspaceId: v.text,
  name: v.text,
  promptId: v.text,
  currentVersion: described(v.positive, "The version of the prompt that is live"),
  isActive: described(v.isTrue, "Whether it is open to requests"),
  revision: described(v.positive, "How often it has changed, its making included; the ETag has it too"),
  createdAt: at,
};
export const Deployment = named("Deployment", exactly(deployment));
export const DeploymentResult = named(
  "DeploymentResult",
  exactly({ ...deployment, changed: described(v.isTrue, "Whether this request made a difference") }),
);
export const Publication = named("Publication", exactly({ ...pushed, deployment: DeploymentResult }));
export const DeploymentChange = named(
  "DeploymentChange",
  exactly({
    revision: v.positive,
    action: oneOf("created", "promoted", "rolled_back", "activated", "deactivated", "renamed"),
    from: described(
      nullable(v.versionStateOrName),
      "The version, whether it was active, or the name before; null where it was made",
    ),
    to: described(v.versionStateOrName, "The version, whether it is active, or the name after"),
    source: described(oneOf("api", "command line"), "By which way the change came"),
    actor: described(v.text, "Who says to have made the change; may be empty"),
    note: described(v.text, "Why; may be empty"),
    createdAt: at,
  }),
);

export const Diagnosis = named(
  "Diagnosis",
  described(
    object({
      id: v.text,
      sessionId: v.text,
      status: v.integer,
      content: DiagnosisContent,
      latency: nullable(v.duration),
      startAt: v.moment,
      endAt: v.moment,
      additional_properties: nullable(v.anyObject),
      promptVersion: described(v.positive, "The version that was live when the record was stored"),
      createdAt: at,
      submitted: optional(
        described(v.anyObject, "Further members whose names are those of the service: id, createdAt …"),
      ),
    }),
    "A stored record: its members as they were submitted, further ones too, and null where one was not given",
  ),
);
export const Deletion = named("Deletion", exactly({ deleted: described(v.count, "How many records were deleted") }));

export const Call = named(
  "Call",
  exactly({
    id: v.text,
    operation: v.operation,
    number: described(v.positive, "Its place among the requests of its workspace and month, from 1"),
    month: v.month,
    keyId: v.text,
    deployId: v.text,
    promptVersion: v.positive,
    createdAt: at,
  }),
);

const day = exactly({ day: described(v.text, "YYYY-MM-DD, UTC"), reads: v.count, submits: v.count });
export const Usage = named(
  "Usage",
  exactly({ ...quotaState, days: described(listOf(day), "The days of the calls that are still in the log") }),
);
export const MonthUsage = named(
  "MonthUsage",
  exactly({ month: v.month, used: v.count, reads: v.count, submits: v.count }),
);

const percentile = described(nullable(v.duration), "Milliseconds; null where no record has a latency");
const measured = described(v.count, "How many records these numbers are of");
const share = described(v.share, "Of the version's records");
const VersionStats = named(
  "VersionStats",
  exactly({
    version: v.positive,
    records: v.count,
    statuses: described(
      listOf(exactly({ status: v.integer, records: v.count, share })),
      "The ten most frequent; approximate where a version has more than 2000 different ones",
    ),
    otherStatuses: exactly({ records: v.count, share }),
    latency: exactly({ records: measured, p50: percentile, p95: percentile, p99: percentile }),
    tokens: exactly({
      records: measured,
      prompt: described(v.number, "The sum of prompt_tokens"),
      completion: described(v.number, "The sum of completion_tokens"),
    }),
  }),
);
export const Stats = named("Stats", exactly({ deployId: v.text, records: v.count, versions: listOf(VersionStats) }));

export const Pruned = named(
  "Pruned",
  exactly({
    calls: v.count,
    records: v.count,
    isDone: described(v.isTrue, "Whether that was all; if not, ask again"),
  }),
);
const LedgerBalance = named(
  "LedgerBalance",
  exactly({
    workspaceId: v.text,
    month: described(v.text, "A month, UTC; unknown, and out of balance, where the calls are in none"),
    used: described(v.count, "What was counted of the quota"),
    calls: described(v.count, "Entries of the call log, the pruned ones included"),
    reads: described(v.count, "Those of them that are reads"),
    records: described(v.count, "Records, the deleted and pruned ones included"),
    deleted: described(v.count, "How many of the records were deleted"),
    pruned: described(v.count, "How many of the calls were pruned, with their records"),
    balanced: described(v.isTrue, "Whether used = calls = reads + records, and the calls are numbered 1 to used"),
  }),
);
export const Verification = named("Verification", exactly({ balanced: v.isTrue, ledgers: listOf(LedgerBalance) }));
