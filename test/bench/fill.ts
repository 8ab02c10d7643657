// Makes data of any size with SQL, as the service would have made it: the ledger balances. Nothing else may write meanwhile.
import { migrate } from "../../src/migrate.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import type { Session } from "../../src/management/kernel/operation.ts";
import { newCommitId } from "../../src/common/ids.ts";
import { monthOf } from "../../src/common/month.ts";
import type { Statement } from "../../src/database/database.ts";
import { createApiKey, createDeployment } from "../actions.ts";
import { managementOf, promptFile } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { postBody, postMeasures } from "./load.ts";
import { createTenants, say } from "./stage.ts";

export const workspaces = 10_000;
export const keys = 100_000;

/** The numbers from 0 to :count - 1, as `numbers (n)`. */
const numbers = "with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < :count)";

const randomId = (prefix: string) => `'${prefix}_' || lower(hex(randomblob(13)))`;

/** Adds workspaces up to `workspaces`, each with unused keys, a prompt and a deployment. */
export async function fillCatalog({ database, clock }: Session): Promise<void> {
  const now = clock();
  const [row] = await database.read({ sql: "select count(*) as present from workspaces" });
  const { title, description, messages, llmConfig } = promptFile;
  const version = { title, description, messages: JSON.stringify(messages), llmConfig: JSON.stringify(llmConfig), now };
  await database.write([
    {
      sql: `${numbers} insert into workspaces (id, name, monthly_limit, created_at)
        select ${randomId("ws")}, 'Workspace ' || n, ${Number.MAX_SAFE_INTEGER}, :now from numbers`,
      args: { count: workspaces - Number(row!.present), now },
    },
    {
      sql: `${numbers} insert into api_keys (id, workspace_id, name, prefix, created_at)
        select ${randomId("key")}, w.id, 'filled', 'pl_filled', :now
        from workspaces w cross join numbers where n > 0 or w.id not in (select workspace_id from api_keys)`,
      args: { count: keys / workspaces, now },
    },
    {
      sql: `insert into api_key_secrets (hash, api_key_id, workspace_id)
        select lower(hex(randomblob(32))), id, workspace_id from api_keys
        where id not in (select api_key_id from api_key_secrets)`,
    },
    {
      sql: `insert into prompts (id, workspace_id, created_at)
        select ${randomId("prompt")}, id, :now from workspaces where id not in (select workspace_id from prompts)`,
      args: { now },
    },
    {
      sql: `insert into prompt_versions (prompt_id, version, title, description, messages, llm_config, note, created_at)
        select id, 1, :title, :description, :messages, :llmConfig, '', :now
        from prompts where id not in (select prompt_id from prompt_versions)`,
      args: version,
    },
    {
      sql:
        `insert into deployments (id, workspace_id, name, prompt_id, current_version, is_active, revision, created_at)
        select ${randomId("dep")}, workspace_id, 'production', id, 1, 1, 1, :now
        from prompts where id not in (select prompt_id from deployments)`,
      args: { now },
    },
  ]);
}

/** Adds records, each with a read before its submit. A batch has at most one of each workspace. */
export async function fillRecords(
  { database, clock }: Session,
  count: number,
  progress: (done: number) => void,
): Promise<void> {
  for (let done = 0; done < count;) {
    const batch = Math.min(workspaces, count - done);
    const [row] = await database.read({ sql: "select coalesce(max(next_position), 1) as start from commits" });
    await database.write(recordBatch(batch, Number(row!.start), clock()));
    done += batch;
    progress(done);
  }
}

const callsPerCommit = 64;

const recordBatch = (count: number, start: number, now: number): Statement[] => {
  const month = monthOf(now);
  return [
    {
      // Multiplying by a prime gives the workspaces another order than that of their rows.
      sql: `${numbers}
        insert into calls
          (position, count, number, workspace_id, api_key_id, deployment_id, prompt_version, operation)
        select :start + 2 * n + o.key, 1, coalesce(q.reads + q.submits, 0) + 1 + o.key, w.id,
          (select id from api_keys where workspace_id = w.id order by id limit 1), d.id, d.current_version, o.value
        from numbers cross join workspaces w on w.rowid = 1 + n * 7919 % ${workspaces}
          cross join deployments d on d.workspace_id = w.id
          left join quota_usage q on q.workspace_id = w.id and q.month = :month
          cross join json_each('["read", "submit"]') o`,
      args: { count, start, month },
    },
    {
      sql: `with recursive firsts (position) as (
          select :start union all select position + ${callsPerCommit} from firsts
          where position + ${callsPerCommit} < :end
        )
        insert into commits (position, next_position, id, month, created_at)
        select position, min(position + ${callsPerCommit}, :end), substr(:id, 1, 16) || printf('%08x', position),
          :month, :now
        from firsts`,
      args: { start, end: start + 2 * count, id: newCommitId(now), month, now },
    },
    {
      sql: `insert into diagnoses (position, deployment_id, prompt_version, session_id, status, measures, document)
        select position, deployment_id, prompt_version, 'order-' || position, 1, :measures,
          replace(:document, 'order-4711', 'order-' || position)
        from calls where position >= :start and operation = 'submit'`,
      args: { start, measures: postMeasures, document: postBody },
    },
    {
      sql: `insert into quota_usage (workspace_id, month, reads, submits)
        select workspace_id, :month, 1, 1 from calls where position >= :start and operation = 'submit'
        on conflict do update set reads = reads + 1, submits = submits + 1`,
      args: { start, month },
    },
  ];
};

const historyBatch = 1000; // commits

/** How much history to make. With several deployments there are three keys too. */
export type HistorySize = { count: number; days: number; deployments?: number };

/**
 * Adds a history to an empty ledger: `count` records over the last `days`, in commits of 64. One in a hundred has status 4.
 * Latencies and tokens are of all sizes. With several deployments each record is of another one and of another key than the
 * record before, and each call has a row of its own, as when applications send one record at a time.
 */
export async function fillHistory(
  admin: Session,
  { workspaceId, keyId, promptId, deployId }: Tenant,
  { count, days, deployments = 1 }: HistorySize,
): Promise<void> {
  const { database, clock } = admin;
  const commits = Math.ceil(count / callsPerCommit);
  const deployIds = [deployId], keyIds = [keyId], callsPerRow = deployments > 1 ? 1 : callsPerCommit;
  while (deployIds.length < deployments) {
    const name = `staging-${deployIds.length}`;
    deployIds.push((await createDeployment(admin, workspaceId, { name, promptId })).id);
    if (keyIds.length < 3) keyIds.push((await createApiKey(admin, workspaceId, {})).id);
  }
  const now = clock();
  const at = (commit: number) => now - Math.floor((1 - commit / commits) * days * 86_400_000);
  const ids = { deployIds: JSON.stringify(deployIds), keyIds: JSON.stringify(keyIds) };
  for (let first = 0; first < commits; first += historyBatch) {
    const batch = Array.from({ length: Math.min(historyBatch, commits - first) }, (_, index) => {
      const createdAt = at(first + index);
      return { id: newCommitId(createdAt), month: monthOf(createdAt), createdAt };
    });
    const start = 1 + first * callsPerCommit, size = batch.length * callsPerCommit;
    await database.write([
      {
        sql: `insert into commits (position, next_position, id, month, created_at)
          select :start + key * ${callsPerCommit}, :start + (key + 1) * ${callsPerCommit}, value ->> 'id',
            value ->> 'month', value ->> 'createdAt'
          from json_each(:batch)`,
        args: { start, batch: JSON.stringify(batch) },
      },
      {
        sql: `${numbers}
          insert into calls
            (position, count, number, workspace_id, api_key_id, deployment_id, prompt_version, operation)
          select p.position, ${callsPerRow}, p.position - s.first + 1, :workspaceId,
            :keyIds ->> (n * 31 % json_array_length(:keyIds)), :deployIds ->> (n * 7919 % json_array_length(:deployIds)),
            1, 'submit'
          from (select n, :start + ${callsPerRow} * n as position from numbers) p
          cross join commits m on m.position = (select max(position) from commits where position <= p.position)
          cross join (select month, min(position) as first from commits group by month) s on s.month = m.month`,
        args: { start, count: size / callsPerRow, workspaceId, ...ids },
      },
      {
        sql: `${numbers} insert into diagnoses
            (position, deployment_id, prompt_version, session_id, status, measures, document)
          select :start + n, c.deployment_id, 1, session, status, latency || ',' || tokens || ',9',
            json_set(:document, '$.sessionId', session, '$.status', status, '$.latency', latency,
              '$.additional_properties.token_usage.prompt_tokens', tokens)
          from (
            select n, 'order-' || ((:start + n) / 7) as session, iif(n % 100 = 7, 4, 1 + n % 3) as status,
              round(exp(abs(random() % 1000000) / 100000.0), 1) as latency, abs(random() % 4000) as tokens
            from numbers
          ) cross join calls c on c.position = (select max(position) from calls where position <= :start + n)`,
        args: { start, count: size, document: postBody },
      },
    ]);
  }
  await database.write([{
    sql: `insert into quota_usage (workspace_id, month, reads, submits)
      select :workspaceId, month, 0, sum(next_position - position) from commits group by month`,
    args: { workspaceId },
  }]);
}

/**
 * Migrates an empty store, and makes tenants, of which the first gets a history. `change` does what else the scenario needs.
 * Nothing has the store open afterwards.
 */
export async function makeHistory(
  scenario: string,
  url: string,
  size: HistorySize,
  tenants = 1,
  change: (admin: Session, tenant: Tenant) => Promise<unknown> = () => Promise.resolve(),
): Promise<Tenant[]> {
  say(`${scenario}: making ${size.count} records`);
  await migrate(url);
  const database = openDatabase(url, "serve");
  const admin = managementOf(database, Date.now);
  const made = await createTenants(admin, tenants);
  await fillHistory(admin, made[0]!, size);
  await change(admin, made[0]!);
  await database.close();
  return made;
}
