// Usage of a workspace's monthly quota, by month and by day.
import { notFound } from "../../common/errors.ts";
import type { Database } from "../../database/database.ts";
import { text } from "../../database/row.ts";
import { readMonth } from "../../log/month-usage.ts";
import type { KeyUsage } from "../../log/month-usage.ts";
import { listMonths as list } from "../../ledger/usage.ts";
import { DayUsage, MonthUsage } from "../../schema/ledger.ts";
import { quotaState } from "../../schema/serving.ts";
import { described, exactly, listOf, nullable, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { reportShare } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { listOperation } from "../kernel/declare.ts";
import { operation, pageOf } from "../kernel/operation.ts";

const NamedKeyUsage = exactly({
  keyId: orNull(v.text, "Null for calls that were pruned before they were counted by key"),
  keyName: nullable(v.text),
  deployId: orNull(v.text, "Null for calls that were pruned before they were counted by deployment"),
  reference: orNull(v.text, "The deployment as NAME@DEPLOYMENT"),
  reads: v.count,
  submits: v.count,
});
const maxKeys = 100;
const Usage = shape("Usage", {
  ...quotaState,
  lastCallAt: described(
    v.moment,
    "When the last request of the month was accepted, of the calls that are still in the log",
  ),
  days: described(listOf(DayUsage), "Usage by day, of the calls that are still in the log"),
  keys: described(
    listOf(NamedKeyUsage),
    `Usage by key and deployment, including pruned calls. The ${maxKeys} largest`,
  ),
  others: described(exactly({ reads: v.count, submits: v.count }), "The usage of all other keys together"),
});
export type Usage = Infer<typeof Usage>;

export const readUsage = operation({
  id: "readUsage",
  summary: "Show a workspace's usage in a month, by day, and by key and deployment",
  method: "GET",
  path: "/workspaces/{workspaceId}/usage/{month}",
  command: "usage [--month YYYY-MM]",
  input: { workspaceId: v.workspaceId, month: v.month },
  output: Usage,
  isLong: true,
  async run(management, { workspaceId, month }) {
    const { database } = management;
    const reportCounted = reportShare(management, (percent) => `Counted ${percent}`);
    const found = await readMonth(database, workspaceId, month, reportCounted);
    if (found === undefined) throw notFound("Workspace", workspaceId);
    const { usage, lastCallAt, days, keys } = found;
    const largest = [...keys].sort((a, b) => totalOf(b) - totalOf(a) || (a.keyId < b.keyId ? -1 : 1));
    const others = { reads: 0, submits: 0 };
    for (const { reads, submits } of largest.splice(maxKeys)) {
      others.reads += reads;
      others.submits += submits;
    }
    return { ...usage, lastCallAt, days, keys: await withNames(database, largest), others };
  },
});

const totalOf = ({ reads, submits }: KeyUsage): number => reads + submits;

async function withNames(database: Database, keys: KeyUsage[]): Promise<Infer<typeof NamedKeyUsage>[]> {
  const names = await namesOf(database, keys);
  return keys.map(({ keyId, deployId, reads, submits }) => ({
    keyId: keyId || null,
    keyName: names.get(keyId) ?? null,
    deployId: deployId || null,
    reference: names.get(deployId) ?? null,
    reads,
    submits,
  }));
}

/** Names of keys and references of deployments, by id. */
export async function namesOf(
  database: Database,
  items: { keyId?: string; deployId?: string }[],
): Promise<Map<string, string>> {
  const idsOf = (name: "keyId" | "deployId") => JSON.stringify([...new Set(items.map((item) => item[name]))]);
  const rows = await database.read({
    sql: `
      select id, name from api_keys where id in (select value from json_each(:keys))
      union all
      select d.id, p.name || '@' || d.name from deployments d cross join prompts p on p.id = d.prompt_id
      where d.id in (select value from json_each(:deployments))`,
    args: { keys: idsOf("keyId"), deployments: idsOf("deployId") },
  });
  return new Map(rows.map((row) => [text(row, "id"), text(row, "name")]));
}

export const listMonths = listOperation({
  id: "listMonths",
  summary: "List a workspace's usage by month, newest first",
  path: "/workspaces/{workspaceId}/usage",
  command: "usage months",
  input: { workspaceId: v.workspaceId, ...v.page },
  output: pageOf(MonthUsage),
  run: ({ database }, { workspaceId, ...page }) => list(database, workspaceId, page),
});

export const usageOperations = [listMonths, readUsage];
