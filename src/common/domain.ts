// The nouns of the service. Times named …At are Unix milliseconds, UTC; months are `YYYY-MM`, UTC; ids are opaque.
import type { JsonText } from "./json-text.ts";

/** Now, in Unix milliseconds. Handed in wherever time matters, so that tests can set it. */
export type Clock = () => number;

/** A tenant: it owns keys, prompts and deployments, and has a quota of accepted requests a month. */
export type Workspace = {
  id: string;
  name: string;
  monthlyLimit: number;
  upgradeUrl: string | null;
  createdAt: number;
};

/** A key as it can be listed: its secret exists only as a hash. */
export type ApiKey = {
  id: string;
  workspaceId: string;
  name: string;
  /** The first characters of the secret, to tell keys apart. */
  prefix: string;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  /** When the secret was last replaced, and until when the one before is valid. */
  rotatedAt: number | null;
  overlapEndsAt: number | null;
  /** When it was last seen on an accepted request, to the hour. */
  lastUsedAt: number | null;
};

/** What an author writes: one version of a prompt. `messages` is an array, `llmConfig` an object, both as JSON text. */
export type PromptContent = {
  title: string;
  description: string;
  messages: JsonText;
  llmConfig: JsonText;
};

/** A prompt and its newest version. */
export type Prompt = {
  id: string;
  workspaceId: string;
  title: string;
  latestVersion: number;
  createdAt: number;
};

/** A version of a prompt; it never changes. `id` is the prompt's, `note` says why it was made. */
export type PromptVersion = PromptContent & { id: string; version: number; note: string; createdAt: number };

/** A version as it stands in a list. */
export type PromptVersionSummary = { version: number; title: string; note: string; createdAt: number };

/** The name an application asks for: it points at one version of one prompt. */
export type Deployment = {
  id: string;
  workspaceId: string;
  name: string;
  promptId: string;
  currentVersion: number;
  isActive: boolean;
  /** How often it has changed: the number of the newest entry of its history. */
  revision: number;
  createdAt: number;
};

/** By which way management came. */
export type Source = "api" | "command line";

/** Who says to have changed something, and why; both may be empty. */
export type Reason = { actor: string; note: string };

/** One entry of a deployment's history: a version, whether it is active, or its name, before and after. */
export type DeploymentChange = {
  revision: number;
  action: "created" | "promoted" | "rolled_back" | "activated" | "deactivated" | "renamed";
  /** Null where the deployment was created. */
  from: number | boolean | string | null;
  to: number | boolean | string;
  source: Source;
  actor: string;
  note: string;
  createdAt: number;
};

/** A part of a list, and where the next one begins; null where there is none. */
export type Page<T> = { items: T[]; nextCursor: string | null };

/** How a list is asked for: so many entries at most, beginning where an earlier answer ended. */
export type PageRequest = { limit?: number | undefined; cursor?: string | undefined };

/** What an accepted request did. */
export type Operation = "read" | "submit";

/** One accepted request: an entry of the call log. */
export type Call = {
  id: string;
  operation: Operation;
  /** Its place among the requests of its workspace and month, from 1. */
  number: number;
  month: string;
  keyId: string;
  deployId: string;
  promptVersion: number;
  createdAt: number;
};

/**
 * A stored diagnosis record: every member as submitted, by its name on the wire (null where an optional one was not
 * given), and what the service knows of it.
 */
export type Diagnosis =
  & { id: string; promptVersion: number; createdAt: number }
  & Record<string, JsonText | string | number | null>;

/** A workspace's quota in one month. `used` counts accepted requests; `resetsAt` is the end of the month in Unix ms. */
export type Quota = { limit: number; used: number; resetsAt: number; upgradeUrl: string | null };

/** A month's use, by operation. `resetTime` is Unix seconds. */
export type Usage = {
  month: string;
  limit: number;
  used: number;
  remaining: number;
  reads: number;
  submits: number;
  resetTime: number;
};

/** A day's accepted requests (`YYYY-MM-DD`, UTC), or a month's. */
export type DayUsage = { day: string; reads: number; submits: number };
export type MonthUsage = { month: string; used: number; reads: number; submits: number };

/**
 * The books of one workspace and month. `deleted` of the records were deleted since; of the calls, `pruned` and their
 * records were taken out of the log because of their age. Balanced when used = calls = reads + records, these included,
 * and the calls are numbered 1 to used.
 */
export type LedgerBalance = {
  workspaceId: string;
  month: string;
  used: number;
  calls: number;
  reads: number;
  records: number;
  deleted: number;
  pruned: number;
  balanced: boolean;
};

/** What was recorded of one version of a deployment's prompt. Of numbers: over the records that carry one. */
export type VersionStats = {
  version: number;
  records: number;
  /** The ten most frequent, and the others as one; `share` is of the version's records, from 0 to 1. */
  statuses: { status: number; records: number; share: number }[];
  otherStatuses: { records: number; share: number };
  /** Percentiles in ms; null where no record carries a latency. */
  latency: { records: number; p50: number | null; p95: number | null; p99: number | null };
  tokens: { records: number; prompt: number; completion: number };
};
