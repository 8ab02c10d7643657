// What the operations on workspaces, keys, prompts and deployments answer with, as it stands in JSON.
import { described, exactly, listOf, named, nullable, oneOf } from "../schema/struct.ts";
import { LlmConfig, Messages } from "../schema/serving.ts";
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
