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

/** A version of a prompt; it never changes. `id` is the prompt's. */
export type PromptVersion = PromptContent & { id: string; version: number; createdAt: number };

/** A version as it stands in a list. */
export type PromptVersionSummary = { version: number; title: string; createdAt: number };

/** The name an application asks for: it points at one version of one prompt. */
export type Deployment = {
  id: string;
  workspaceId: string;
  name: string;
  promptId: string;
  currentVersion: number;
  isActive: boolean;
  createdAt: number;
};

/** One entry of a deployment's history. */
export type DeploymentChange = {
  action: "created" | "promoted" | "activated" | "deactivated";
  fromVersion: number | null;
  toVersion: number;
  createdAt: number;
};

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

/** The books of one workspace and month: balanced when used = calls = reads + records and the calls are numbered 1 to used. */
export type LedgerBalance = {
  workspaceId: string;
  month: string;
  used: number;
  calls: number;
  reads: number;
  records: number;
  balanced: boolean;
};
