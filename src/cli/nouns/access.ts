// Shows keys, tokens, workspaces and the audit log on the command line.
import { createApiKey, listApiKeys, rotateApiKey } from "../../management/access/api-keys.ts";
import type { ApiKey } from "../../management/access/api-keys.ts";
import { exportAuditEntries, listAuditEntries } from "../../management/events/audit.ts";
import type { AuditEntry } from "../../management/events/audit.ts";
import { deleteWorkspace } from "../../management/access/deletion.ts";
import type { StatusName } from "../../management/kernel/statuses.ts";
import { createToken, listTokens, rotateToken } from "../../management/access/tokens.ts";
import type { Token } from "../../management/access/tokens.ts";
import { createWorkspace, listWorkspaces, updateWorkspace } from "../../management/kernel/workspaces.ts";
import type { Workspace } from "../../management/kernel/workspaces.ts";
import type { Arguments } from "../frame/arguments.ts";
import { show, showSecret } from "../frame/command.ts";
import type { Outcome } from "../frame/command.ts";
import { formatTime, formatValue, labelOf } from "../frame/format.ts";
import { listNewest } from "../frame/lists.ts";
import { present, repeatUntilDone } from "../frame/operation-commands.ts";

const storeNow = (noun: string) => `Store the ${noun} now: it is not shown again`;

type Lifetime = Pick<ApiKey, "createdAt" | "expiresAt" | "revokedAt" | "overlapEndsAt">;

const describeExpiry = ({ expiresAt }: Lifetime): string =>
  typeof expiresAt === "number" ? `. It expires at ${formatTime(expiresAt)}` : "";

const describeNew = (noun: string, secret: Lifetime): string => `${storeNow(noun)}${describeExpiry(secret)}`;

function describeRotated(noun: string, secret: Lifetime): string {
  const old = secret.overlapEndsAt !== null ? `valid until ${formatTime(secret.overlapEndsAt)}` : "refused from now on";
  return `${storeNow(noun)}${describeExpiry(secret)}. The old one is ${old}`;
}

const stateOf = ({ revokedAt, expiresAt }: Lifetime): string =>
  revokedAt !== null ? "revoked" : expiresAt !== null && expiresAt <= Date.now() ? "expired" : "valid";

/** The most important columns come first, because a narrow terminal shows the last ones below. */
const toKeyRow = ({ name, prefix, deployId, expiresAt, lastUsedAt, createdAt, ...rest }: ApiKey) => {
  const { revokedAt, id, readOnly, submitOnly, feedbackOnly } = rest;
  const state = stateOf({ expiresAt, createdAt, ...rest });
  const scope = readOnly ? "reads" : submitOnly ? "submits" : feedbackOnly ? "feedback" : "all";
  return { name, prefix, state, for: scope, deployId, expiresAt, lastUsedAt, createdAt, revokedAt, id };
};

const toTokenRow = ({ name, prefix, role, owner, workspaceId, expiresAt, lastUsedAt, createdAt, ...rest }: Token) => {
  const state = stateOf({ expiresAt, createdAt, ...rest });
  const { revokedAt, id } = rest;
  return { name, prefix, state, role, owner, workspaceId, expiresAt, lastUsedAt, createdAt, revokedAt, id };
};

/** `--status 1=ok --status 0=failed!`. An empty text means no names. */
function statusesOf(args: Arguments): { statuses?: StatusName[] } {
  const given = args.texts("status");
  if (given.length === 0) return {};
  const statuses = given.filter((text) => text !== "").map((text) => {
    const [, code, name = "", mark] = /^(-?\d+)=(.*?)(!?)$/s.exec(text)!;
    return { status: Number(code), name, isFailure: mark === "!" };
  });
  return { statuses };
}

/** Deleting a call deletes its record. */
function showWorkspace(workspace: Workspace): Outcome {
  const { keepRecordsMs, keepCallsMs } = workspace;
  const isShorter = keepRecordsMs !== null && keepCallsMs !== null && keepCallsMs < keepRecordsMs;
  const note = `Records go with their calls, after ${formatValue("keepCallsMs", keepCallsMs)}`;
  return show(workspace, isShorter ? note : undefined);
}

const describeStatuses = (statuses: StatusName[]): string =>
  statuses.map(({ status, name, isFailure }) => `${status}=${name}${isFailure ? "!" : ""}`).join(" ");

const describeDefaults = ({ monthlyLimit, statuses }: Workspace): string =>
  `It accepts ${monthlyLimit.toLocaleString("en")} requests per month, and ` +
  `${statuses.length === 0 ? "names no status" : `its statuses are ${describeStatuses(statuses)}`}. ` +
  "workspace update changes both";

const statusExplanation = 'The name of a status of its records. With "", none has a name';

export const accessPresentations = [
  present(createWorkspace, {
    createsDatabase: true,
    explanations: { status: `${statusExplanation}. Default: 0=failed! and 1=ok` },
    async run({ args, call }, input) {
      const created = await call(createWorkspace, { ...input, ...statusesOf(args) });
      const { data, note } = showWorkspace(created);
      return { data, note: [describeDefaults(created), ...note === undefined ? [] : [note]].join("\n") };
    },
  }),
  present(updateWorkspace, {
    explanations: { status: `${statusExplanation}. These names replace all earlier ones` },
    check: (args) =>
      ["name", "limit", "upgrade-url", "keep-records", "keep-calls", "status", "cost-source"]
          .every((name) => args.findText(name) === undefined)
        ? "Nothing to change: set --name, --limit, --upgrade-url, --keep-records, --keep-calls, --status or --cost-source"
        : undefined,
    run: async ({ args, call }, input) => showWorkspace(await call(updateWorkspace, { ...input, ...statusesOf(args) })),
  }),
  present(listWorkspaces, {
    row: (item: Workspace) => ({ ...item, statuses: describeStatuses(item.statuses) }),
  }),
  present(deleteWorkspace, repeatUntilDone(deleteWorkspace, "Removed")),
  present(createApiKey, {
    check: (args) =>
      args.has("read-only") && args.has("submit-only") ? "--read-only and --submit-only exclude each other" : undefined,
    show: (key) => showSecret("key", key, describeNew("key", key)),
  }),
  present(rotateApiKey, { show: (key) => showSecret("key", key, describeRotated("key", key)) }),
  present(listApiKeys, { row: toKeyRow }),
  present(createToken, {
    check: (args) =>
      args.text("role") === "owner" && args.findText("workspace") !== undefined
        ? "--role owner is for all workspaces: leave out --workspace and PROMPTLEDGER_WORKSPACE"
        : undefined,
    show: (token) => showSecret("token", token, describeNew("token", token)),
  }),
  present(rotateToken, { show: (token) => showSecret("token", token, describeRotated("token", token)) }),
  present(listTokens, { row: toTokenRow }),
];

/** Text of a change: `monthlyLimit 10 → 20`, `version 1 → 2`, or the name of a created or deleted item. */
function describeChange({ before, after }: AuditEntry): string {
  if (before === null || after === null) {
    const { name } = after ?? before ?? {};
    return typeof name === "string" ? name : "";
  }
  return Object.keys(after).filter((member) => !["revision", "hash", "secretHash"].includes(member))
    .map((member) =>
      `${labelOf(member).replace(/^(current|latest)V/, "v")} ${formatValue(member, before[member])} → ${
        formatValue(member, after[member])
      }`
    )
    .join(", ");
}

/** The most important columns come first, because a narrow terminal shows the last ones below. */
const toEntryRow = (entry: AuditEntry) => {
  const { createdAt, action, actor, note, source, targetId, position, requestId } = entry;
  return { createdAt, action, change: describeChange(entry), actor, note, source, targetId, position, requestId };
};

const example = "deployment.promoted";

export const auditPresentations = [
  present(listAuditEntries, {
    async run(context, input) {
      const outcome = await listNewest(context, listAuditEntries, input, toEntryRow);
      const action = context.args.findText("action");
      if (action === undefined || outcome.rows?.length !== 0) return outcome;
      const note = `Nothing to list. An action is a noun such as deployment, or a noun and a verb such as ${example}`;
      return { ...outcome, note };
    },
  }),
  present(exportAuditEntries, { exported: "entries" }),
];
