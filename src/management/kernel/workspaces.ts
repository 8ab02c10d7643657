// Workspaces are tenants. Each has its own keys, prompts and deployments, and a monthly quota of accepted requests.
import { notFound } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import { maxUrlLength } from "../../support/outbound-url.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import type { Database } from "../../database/database.ts";
import { described, oneOf, option, optional, orNull, refined, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "./values.ts";
import { createOperation, listOperation } from "./declare.ts";
import { operation, pageOf } from "./operation.ts";
import type { Store } from "./operation.ts";
import { defaultStatuses, givenStatuses, statusNames, toStatuses } from "./statuses.ts";
import { insertInto, tableOf, updateOf } from "./table.ts";

export const Workspace = shape("Workspace", {
  id: v.textAs<WorkspaceId>(),
  name: v.text,
  monthlyLimit: described(v.count, "Accepted requests per month; 0 accepts none"),
  upgradeUrl: described(v.webUrl, "The link that clients get when the quota is exhausted, or null"),
  keepRecordsMs: orNull(v.age, "How long records are kept, in milliseconds, or null to keep them forever"),
  keepCallsMs: orNull(
    v.age,
    "How long calls are kept with their records, in milliseconds, or null to keep them forever",
  ),
  statuses: statusNames,
  costSource: described(
    oneOf("provider", "prices"),
    "The first choice for the cost of a record that has none itself: the charge that its provider reports, or the prices",
  ),
  createdAt: v.timestamp,
});
export type Workspace = Infer<typeof Workspace>;

const { monthlyLimit, keepRecordsMs, keepCallsMs, costSource } = Workspace.schema;
const upgradeUrl = refined(
  Workspace.schema.upgradeUrl,
  (value) => value === null || value.length <= maxUrlLength,
  `an http or https URL of at most ${maxUrlLength} characters, or null`,
  { maxLength: maxUrlLength },
);
export const workspaceTable = tableOf(
  Workspace,
  "select * from workspaces where id not in (select id from deleted_workspaces)",
);

const defaultMonthlyLimit = 1_000_000;

export const createWorkspace = createOperation({
  id: "createWorkspace",
  summary: "Create a workspace",
  path: "/workspaces",
  role: "owner",
  command:
    "workspace create --name NAME [--limit REQUESTS] [--upgrade-url URL] [--keep-records RETENTION] [--keep-calls RETENTION] [--status CODE=NAME]... [--cost-source provider|prices]",
  input: {
    name: described(v.name, "Its name"),
    monthlyLimit: option(v.count, "Accepted requests per month; 0 accepts none", { default: defaultMonthlyLimit }),
    upgradeUrl: optional(upgradeUrl),
    keepRecordsMs: optional(keepRecordsMs),
    keepCallsMs: optional(keepCallsMs),
    statuses: option(
      givenStatuses,
      "What the statuses of its records mean. Default: 0 is failed, which counts as a failure, and 1 is ok",
      { default: defaultStatuses },
    ),
    costSource: optional(costSource),
  },
  output: Workspace,
  locate: ({ id }) => `/workspaces/${id}`,
  async run({ clock, commit }, { name, ...given }) {
    const { monthlyLimit = defaultMonthlyLimit, statuses: named = defaultStatuses, costSource = "provider" } = given;
    const { upgradeUrl = null, keepRecordsMs = null, keepCallsMs = null } = given;
    const statuses = toStatuses(named);
    const createdAt = clock();
    const id: WorkspaceId = newId("ws", createdAt);
    const created = { name, monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs, statuses, costSource, createdAt };
    const workspace = { id, ...created };
    await commit([{ action: "workspace.created", id, workspaceId: id, after: created }], [
      insertInto("workspaces", toRow(workspace)),
    ]);
    return workspace;
  },
});

export const listWorkspaces = listOperation({
  id: "listWorkspaces",
  summary: "List the workspaces that the caller may see, newest first",
  path: "/workspaces",
  command: "workspace list",
  input: v.page,
  output: pageOf(Workspace),
  isScoped: true,
  run: ({ database, caller }, page) =>
    workspaceTable.list(database, caller.workspaceId === undefined ? {} : { id: caller.workspaceId }, page),
});

export const getWorkspace = operation({
  id: "getWorkspace",
  summary: "Show a workspace",
  method: "GET",
  path: "/workspaces/{id}",
  command: "workspace show WORKSPACE",
  input: { id: v.workspaceId },
  output: Workspace,
  run: (management, { id }) => requireWorkspace(management, id),
});

export const updateWorkspace = operation({
  id: "updateWorkspace",
  summary: "Change a workspace. A new limit applies from the next request on, new retention within an hour",
  method: "PATCH",
  path: "/workspaces/{id}",
  role: "admin",
  command:
    "workspace update WORKSPACE [--name NAME] [--limit REQUESTS] [--upgrade-url URL] [--keep-records RETENTION] [--keep-calls RETENTION] [--status CODE=NAME]... [--cost-source provider|prices]",
  input: {
    id: v.workspaceId,
    name: option(v.name, "The new name"),
    monthlyLimit: optional(monthlyLimit),
    upgradeUrl: optional(upgradeUrl),
    keepRecordsMs: optional(keepRecordsMs),
    keepCallsMs: optional(keepCallsMs),
    statuses: optional(givenStatuses),
    costSource: optional(costSource),
  },
  output: Workspace,
  async run(management, { id, statuses, ...input }) {
    const before = await requireWorkspace(management, id);
    const given = { ...input, statuses: statuses && toStatuses(statuses) };
    const members = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const]
    );
    const isChanged = (name: string, value: unknown) =>
      JSON.stringify(before[name as keyof Workspace]) !== JSON.stringify(value);
    const changed = Object.fromEntries(members.filter(([name, value]) => isChanged(name, value)));
    if (Object.keys(changed).length === 0) return before;
    const after = { ...before, ...changed };
    await management.commit([{ action: "workspace.updated", id, workspaceId: id, before, after }], [
      updateOf("workspaces", id, toRow(changed)),
    ]);
    return after;
  },
});

/** The columns of members. Lists are stored as JSON. */
const toRow = (members: Record<string, string | number | null | object[]>) =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, Array.isArray(value) ? JSON.stringify(value) : value]),
  );

/** Returns a workspace. Throws if missing. */
export const requireWorkspace = async ({ database }: Store, id: WorkspaceId): Promise<Workspace> =>
  await workspaceTable.find(database, id) ?? missing(id);

export const hasWorkspaces = async (database: Database): Promise<boolean> =>
  (await database.read({ sql: "select 1 from workspaces limit 1" })).length > 0;

function missing(id: WorkspaceId): never {
  throw notFound("Workspace", id);
}

export const workspaceOperations = [createWorkspace, listWorkspaces, getWorkspace, updateWorkspace];
