// What the ledger counts and records. Times named …At are Unix milliseconds, UTC; months are `YYYY-MM`, UTC; ids are opaque.
import type { JsonText } from "./json-text.ts";

/** Now, in Unix milliseconds. Handed in wherever time matters, so that tests can set it. */
export type Clock = () => number;

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
