// Nouns of the service, each declared once. A declaration determines which inputs are hidden from other workspaces,
// what is deleted with a workspace, what verify compares with the audit log, ids, and the console's navigation and
// links.

import type { Id } from "../../common/ids.ts";

/** A table of a noun. */
export type Table = {
  name: string;
  /** Key of a row. Default: `id`. */
  key?: string;
  /**
   * Column with the id of the row in the noun's first table that owns this one. Default: `workspace_id` has the owner.
   */
  holder?: string;
  /** Table of deleted rows of the first one, whose rows may be left here. */
  former?: string;
  /** Length of a row, in SQL, if it may be so long that few are removed at once. */
  bytes?: string;
  /** Other code removes its rows: with calls and records, by a trigger, or last of all. */
  isRemovedElsewhere?: true;
};

export type Noun = {
  /** Name in messages. Inputs declare by this name that they have its ids. */
  name: string;
  /** Prefix of its ids. */
  prefix?: string;
  /** Owner. Under `either`, a row has a workspace, or none if it is the service's. */
  owner: "workspace" | "service" | "either";
  /** Its tables, of which the first has a row for each. A table comes after all those to which it refers. */
  tables: readonly Table[];
  /** Name in events, in SQL over its first table. */
  title?: string;
  /** Comparison of its rows with the audit log by verify. Undefined if the log has no changes of it. */
  audit?: {
    /** Members without entries: they follow from other rows, or change without an entry. */
    unlogged?: readonly string[];
    /** Members that came with a migration, and the value of rows from before, whose entries do not name them. */
    added?: Readonly<Record<string, unknown>>;
    /** Members that are copied to its second table, which holds its secrets. */
    copiedToSecrets?: Readonly<Record<string, string>>;
  };
  /** Its page in the console, below that of a workspace, to which the audit log links. */
  page?: string;
  /** Its entry in the navigation of the console, which is in the order of this list. */
  section?: { path: string; title: string; isSetup?: true };
};

/** Nouns by the prefix of their actions in the audit log. */
export const nouns = {
  prompt: {
    name: "Prompt",
    prefix: "prompt",
    owner: "workspace",
    title: "name",
    tables: [
      { name: "prompts" },
      {
        name: "prompt_versions",
        key: "prompt_id, version",
        holder: "prompt_id",
        bytes:
          "octet_length(description) + octet_length(messages) + octet_length(llm_config) + coalesce(octet_length(declarations), 0)",
      },
    ],
    audit: { unlogged: ["title"] },
    page: "prompts/:id",
    section: { path: "prompts", title: "Prompts" },
  },
  deployment: {
    name: "Deployment",
    prefix: "dep",
    owner: "workspace",
    title: "(select p.name from prompts p where p.id = prompt_id) || '@' || name",
    tables: [{ name: "deployments" }],
    audit: { unlogged: ["reference"], added: { approvals: 0 } },
    page: "deployments/:id",
    section: { path: "deployments", title: "Deployments" },
  },
  change: {
    name: "Change request",
    prefix: "change",
    owner: "workspace",
    title:
      "(select p.name || '@' || d.name from deployments d join prompts p on p.id = d.prompt_id where d.id = deployment_id)",
    tables: [{ name: "change_requests" }],
    audit: { unlogged: ["reference", "promptId"] },
    page: "changes/:id",
    section: { path: "changes", title: "Changes" },
  },
  rollout: { name: "Rollout", prefix: "ro", owner: "workspace", tables: [{ name: "rollouts" }] },
  record: {
    name: "Record",
    prefix: "diag",
    owner: "workspace",
    tables: ["diagnoses", "deleted_diagnoses"].map((name) => ({
      ...{ name, key: "position", isRemovedElsewhere: true },
    })),
    section: { path: "records", title: "Records" },
  },
  feedback: {
    name: "Feedback",
    owner: "workspace",
    tables: [
      { name: "feedback", key: "position, name, author", isRemovedElsewhere: true },
      { name: "earlier_feedback", key: "position, name, author, change", isRemovedElsewhere: true },
      { name: "waiting_feedback", key: "workspace_id, key, name, author" },
      { name: "waiting_counts", key: "workspace_id", isRemovedElsewhere: true },
      { name: "feedback_counts", key: "position, name_id, value", isRemovedElsewhere: true },
      { name: "feedback_histories", key: "position", isRemovedElsewhere: true },
      { name: "feedback_words", key: "id", isRemovedElsewhere: true },
    ],
  },
  feedback_name: {
    name: "Name of feedback",
    owner: "workspace",
    tables: [{ name: "feedback_names", key: "workspace_id, name" }],
    audit: {},
    page: "settings/feedback",
  },
  review: {
    name: "Review",
    prefix: "review",
    owner: "workspace",
    title: "title",
    tables: [{ name: "reviews" }, { name: "review_records", key: "review_id, ordinal", isRemovedElsewhere: true }],
    audit: { unlogged: ["createdAt", "records", "open", "taken", "done", "skipped", "gone"] },
    page: "reviews/:id",
    section: { path: "reviews", title: "Reviews" },
  },
  session: {
    name: "Session",
    owner: "workspace",
    tables: [],
    section: { path: "sessions", title: "Sessions" },
  },
  call: {
    name: "Call",
    prefix: "call",
    owner: "workspace",
    tables: ["calls", "commits", "quota_usage", "pruned_calls", "idempotency_keys"].map((name) => ({
      ...{ name, key: "position", isRemovedElsewhere: true },
    })),
    section: { path: "usage", title: "Usage" },
  },
  key: {
    name: "API key",
    prefix: "key",
    owner: "workspace",
    title: "name",
    tables: [{ name: "api_keys" }, { name: "api_key_secrets", key: "hash", holder: "api_key_id" }],
    audit: {
      unlogged: ["lastUsedAt"],
      added: { feedbackOnly: false },
      copiedToSecrets: {
        ...{ workspace_id: "workspaceId", read_only: "readOnly", submit_only: "submitOnly", deployment_id: "deployId" },
      },
    },
    page: "keys/:id",
    section: { path: "keys", title: "Keys", isSetup: true },
  },
  budget: {
    name: "Budget",
    prefix: "budget",
    owner: "workspace",
    title: "'$' || amount || ' per ' || per",
    tables: [{ name: "budgets" }, { name: "budget_periods", key: "budget_id, period", holder: "budget_id" }],
    audit: { unlogged: ["createdAt", "promptName", "keyName"] },
    page: "usage/budgets/:id",
  },
  token: {
    name: "Token",
    prefix: "token",
    owner: "either",
    title: "name",
    tables: [{ name: "management_tokens" }, { name: "management_token_secrets", key: "hash", holder: "token_id" }],
    audit: { unlogged: ["lastUsedAt"], copiedToSecrets: {} },
    page: "tokens/:id",
    section: { path: "tokens", title: "Tokens", isSetup: true },
  },
  webhook: {
    name: "Webhook",
    prefix: "wh",
    owner: "either",
    title: "address",
    tables: [
      { name: "webhooks" },
      { name: "deleted_webhooks" },
      { name: "webhook_secrets", key: "webhook_id, secret", holder: "webhook_id" },
      {
        ...{
          name: "webhook_deliveries",
          key: "webhook_id, number",
          holder: "webhook_id",
          bytes: "octet_length(event)",
        },
        former: "deleted_webhooks",
      },
    ],
    audit: { unlogged: ["createdAt", "lastSuccessAt", "oldestDueAt"] },
    page: "webhooks/:id",
    section: { path: "webhooks", title: "Webhooks", isSetup: true },
  },
  alert: {
    name: "Alert",
    prefix: "alert",
    owner: "workspace",
    title: `condition || coalesce(' of ' || coalesce(
      (select p.name || '@' || d.name from deployments d join prompts p on p.id = d.prompt_id where d.id = deployment_id),
      (select p.name from prompts p where p.id = alerts.prompt_id)
    ), '')`,
    tables: [{ name: "alerts" }],
    audit: {
      unlogged: [
        ...["reference", "createdAt", "changedAt"],
        ...["state", "stateAt", "clearAt", "value", "records", "checkedAt"],
      ],
    },
    page: "alerts/:id",
    section: { path: "alerts", title: "Alerts" },
  },
  notice: {
    name: "Notice",
    owner: "either",
    tables: [{ name: "notices", key: "action, subject, fact" }],
  },
  price: {
    name: "Price",
    prefix: "price",
    owner: "service",
    title: "model",
    tables: [{ name: "prices" }],
    audit: {
      unlogged: ["createdAt"],
      added: { cacheWrite: null, cacheWriteHour: null, tiers: [], unpricedMedia: [] },
    },
    page: "prices",
    section: { path: "prices", title: "Prices", isSetup: true },
  },
  workspace: {
    name: "Workspace",
    prefix: "ws",
    owner: "workspace",
    title: "name",
    tables: [{ name: "workspaces", isRemovedElsewhere: true }],
    audit: { added: { statuses: [], costSource: "provider" } },
    page: "settings",
    section: { path: "settings", title: "Settings", isSetup: true },
  },
  entry: {
    name: "Entry of the audit log",
    owner: "service",
    tables: [{ name: "audit_log", key: "position" }, { name: "audit_head" }],
    section: { path: "audit", title: "Audit log", isSetup: true },
  },
} as const satisfies Record<string, Noun>;

type Nouns = typeof nouns;
/** The nouns that have ids. */
export type NounWithId = { [Key in keyof Nouns]: Nouns[Key] extends { prefix: string } ? Key : never }[keyof Nouns];
/** Nouns with changes in the audit log. */
export type AuditedNoun = { [Key in keyof Nouns]: Nouns[Key] extends { audit: object } ? Key : never }[keyof Nouns];
/** The ids of a noun. */
export type IdOf<Key extends NounWithId> = Id<Nouns[Key]["prefix"]>;

/** All nouns, for code that takes any of them. */
export const allNouns: ReadonlyMap<string, Noun> = new Map(Object.entries(nouns));
