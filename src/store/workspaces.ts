// Rows of workspaces.
import type { Page, PageRequest, Workspace } from "../common/domain.ts";
import type { Database, Row } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { integer, text, textOrNull } from "../database/row.ts";

export async function createWorkspace(database: Database, workspace: Workspace): Promise<void> {
  const { id, name, monthlyLimit, upgradeUrl, createdAt } = workspace;
  await database.write([{
    sql: "insert into workspaces (id, name, monthly_limit, upgrade_url, created_at) values (?, ?, ?, ?, ?)",
    args: [id, name, monthlyLimit, upgradeUrl, createdAt],
  }]);
}

/** Changes what is given; gives the workspace as it then is, or undefined where there is none. */
export async function updateWorkspace(
  database: Database,
  id: string,
  change: { name?: string | undefined; monthlyLimit?: number | undefined; upgradeUrl?: string | null | undefined },
): Promise<Workspace | undefined> {
  const [rows] = await database.write([{
    sql: `update workspaces set name = coalesce(:name, name), monthly_limit = coalesce(:monthlyLimit, monthly_limit),
        upgrade_url = iif(:hasUpgradeUrl, :upgradeUrl, upgrade_url)
      where id = :id returning *`,
    args: {
      id,
      name: change.name ?? null,
      monthlyLimit: change.monthlyLimit ?? null,
      hasUpgradeUrl: change.upgradeUrl === undefined ? 0 : 1,
      upgradeUrl: change.upgradeUrl ?? null,
    },
  }]);
  return rows!.map(toWorkspace)[0];
}

export async function findWorkspace(database: Database, id: string): Promise<Workspace | undefined> {
  return (await database.read({ sql: "select * from workspaces where id = ?", args: [id] })).map(toWorkspace)[0];
}

/** All workspaces, newest first. */
export function listWorkspaces(database: Database, request: PageRequest): Promise<Page<Workspace>> {
  const sql = "select * from workspaces where id < coalesce(:cursor, '~') order by id desc limit :rows";
  return readPage(database, request, (page) => ({ sql, args: page }), toWorkspace, ({ id }) => id);
}

const toWorkspace = (row: Row): Workspace => ({
  id: text(row, "id"),
  name: text(row, "name"),
  monthlyLimit: integer(row, "monthly_limit"),
  upgradeUrl: textOrNull(row, "upgrade_url"),
  createdAt: integer(row, "created_at"),
});
