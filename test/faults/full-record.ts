// One key gives a record all the feedback that it takes, and another record has more, from a version without bounds. People read
// both in every way, while another workspace reads its prompts.
import { openDatabase } from "../../src/database/file/open.ts";
import { send } from "../conformance/http-client.ts";
import { memoryOf, startFile, startService } from "../conformance/processes.ts";
import { ownPage } from "../console/visitor.ts";
import { adminToken, createTenant, goodBody, managementOf } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit } from "./audit.ts";
import { inFolder } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";

const names = 50, authors = 20; // of a record
const changes = { stored: 70, sent: 3 }; // of each voice: of the record that is full, and of the one that gets requests
const comment = "x".repeat(8_000);
const perRequest = 100; // pieces: 0.8 MB
const maxKept = 16 * 1024 * 1024; // characters of an answer
const maxGrowth = 400; // MiB
const maxReadTime = 1_000; // ms

/** Adds feedback to the newest record, with 70 changes of each voice. Returns its position. */
async function fillRecord(url: string, { workspaceId }: Tenant): Promise<number> {
  const database = openDatabase(url, "manage");
  const [row] = await database.read({ sql: "select max(position) as position from diagnoses" });
  const voices = `with recursive i(n) as (select 0 union all select n + 1 from i where n + 1 < ${names * authors})`;
  const piece = `:position, 'name' || (n % ${names}), 'author' || (n / ${names}), 'x', :comment, 'user', 0`;
  const columns = "position, name, author, value, comment, source, given_at, change";
  const args = { position: Number(row!.position), comment };
  await database.write([
    {
      sql: `insert into feedback_names (workspace_id, name, kind, is_declared)
        ${voices} select ?, 'name' || n, 'label', 0 from i where n < ${names}`,
      args: [workspaceId],
    },
    {
      sql: `insert into feedback (${columns}) ${voices} select ${piece}, :change from i`,
      args: { ...args, change: changes.stored + 1 },
    },
  ]);
  for (let change = 1; change <= changes.stored; change++) {
    await database.write([{
      sql: `insert into earlier_feedback (${columns}, ended_at) ${voices} select ${piece}, :change, :change from i`,
      args: { ...args, change },
    }]);
  }
  await database.close();
  return args.position;
}

/** Removes the feedback that was added without a request, for the audit. */
async function emptyRecord(url: string, position: number): Promise<void> {
  const database = openDatabase(url, "manage");
  const tables = ["feedback", "earlier_feedback"];
  await database.write(tables.map((table) => ({ sql: `delete from ${table} where position = ?`, args: [position] })));
  await database.close();
}

type Target = { url: string; tenant: Tenant; headers: Record<string, string> };

/** Submits a record. Returns its id. */
async function submit({ url, tenant }: Target): Promise<string> {
  const headers = [`Authorization: Bearer ${tenant.key}`];
  const target = `/v1/diagnosis?deployId=${tenant.deployId}`;
  const { text } = await send(url, target, { method: "POST", headers, body: JSON.stringify(goodBody) });
  return (JSON.parse(text) as { id: string }).id;
}

/** Gives a record feedback with one key. Returns how many pieces were taken and refused. */
async function attack({ url, tenant }: Target, record: string): Promise<{ taken: number; refused: number }> {
  const headers = [`Authorization: Bearer ${tenant.key}`], sum = { taken: 0, refused: 0 };
  for (let change = 0; change < changes.sent; change++) {
    for (let first = 0; first < names * authors; first += perRequest) {
      const feedback = Array.from({ length: perRequest }, (_, nth) => ({
        ...{ record, name: `name${(first + nth) % names}`, author: `author${Math.floor((first + nth) / names)}` },
        ...{ value: `x${change}`, comment },
      }));
      const { status, text } = await send(url, "/v1/feedback", {
        method: "POST",
        headers,
        body: JSON.stringify({ feedback }),
      });
      if (status !== 200) throw new Error(`Feedback got ${status}: ${text.slice(0, 200)}`);
      const { results } = JSON.parse(text) as { results: { status: number }[] };
      const taken = results.filter(({ status }) => status < 300).length;
      sum.taken += taken;
      sum.refused += results.length - taken;
    }
  }
  return sum;
}

/** Reads a record in every way. Returns the failures, and the number of requests. */
async function look({ url, tenant, headers }: Target, record: string): Promise<{ faults: string[]; requests: number }> {
  const faults: string[] = [];
  let requests = 0;
  const ask = async (target: string): Promise<string> => {
    const { status, body } = await fetch(url + target, { headers });
    let text = "";
    // The text of all feedback is longer than a string can be.
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) if (text.length < maxKept) text += part;
    if (status !== 200) faults.push(`${target.slice(0, 80)} got ${status}`);
    requests++;
    return text;
  };
  const { workspaceId, deployId } = tenant;
  for (let cursor: string | null = ""; cursor !== null && faults.length === 0;) {
    const text = await ask(`/admin/v1/diagnoses/${record}/feedback${cursor && `?cursor=${cursor}`}`);
    cursor = faults.length > 0 ? null : (JSON.parse(text) as { nextCursor: string | null }).nextCursor;
  }
  for (const query of ["limit=20", "limit=1000"]) await ask(`/admin/v1/deployments/${deployId}/diagnoses?${query}`);
  await ask(`/admin/v1/diagnoses/${record}`);
  await ask(`/admin/v1/deployments/${deployId}/diagnoses/export`);
  await ask(`/console/${workspaceId}/records/${record}`);
  await ask(`/console/${workspaceId}/records/${record}/text?part=feedback`);
  await ask(`/console/${workspaceId}/records`);
  return { faults, requests };
}

export const fullRecord: Fault = {
  rounds: 1,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const totals: Audit = { lost: 0, doubled: 0, faults: [], slow: [] };
      const figures: string[] = [];
      let requests = 0;
      for (let round = 1; round <= rounds; round++) {
        const seeded = await createSeededDatabase(`file:${path}/ledger-${round}.db`);
        const other = await addWorkspace(seeded.url);
        const service = await startService(runtime, { DATABASE_URL: seeded.url, ADMIN_TOKEN: adminToken });
        const headers = { Authorization: `Bearer ${adminToken}`, Cookie: await signIn(service.url) };
        const target = { url: service.url, tenant: seeded.tenant, headers };
        const full = await submit(target);
        const position = await fillRecord(seeded.url, seeded.tenant);
        const reader = await startFile(
          "Node",
          "test/faults/reader.ts",
          { TARGET: `${service.url}/v1/prompts?deployId=${other.deployId}`, KEY: other.key },
          /(reading)/,
        );
        const before = await memoryOf(service.pid, "VmHWM") ?? 0;
        const attacked = await submit(target);
        const { taken, refused } = await attack(target, attacked);
        say(`${round} of ${rounds}: ${taken} pieces were taken, ${refused} refused`);
        for (const record of [attacked, full]) {
          const seen = await look(target, record);
          totals.faults.push(...seen.faults);
          requests += seen.requests;
        }
        const growth = (await memoryOf(service.pid, "VmHWM") ?? 0) - before;
        await reader.stop();
        const { slowest } = JSON.parse(reader.out().split("\n").at(-2)!) as { slowest: number };
        await service.stop();
        await emptyRecord(seeded.url, position);
        const found = await audit(seeded, emptyOutcomes());
        totals.faults.push(...found.faults);
        if (growth > maxGrowth) totals.faults.push(`memory grew by ${growth} MiB`);
        if (slowest > maxReadTime) totals.slow!.push(`a read of another workspace took ${slowest.toFixed(0)} ms`);
        figures.push(
          `${taken} pieces taken and ${refused} refused; memory +${growth} MiB, another workspace's slowest read ` +
            `${slowest.toFixed(0)} ms`,
        );
        say(`${round} of ${rounds}: ${figures.at(-1)}`);
      }
      return { ...totals, rounds, requests, figures: figures.join("; ") };
    }),
};

/** Adds another workspace to a database. */
async function addWorkspace(url: string): Promise<Tenant> {
  const database = openDatabase(url, "manage");
  const tenant = await createTenant(managementOf(database, Date.now), 1_000_000, "Other");
  await database.close();
  return tenant;
}

/** The cookie of a person who signs in. */
async function signIn(url: string): Promise<string> {
  const headers = Object.entries(ownPage).map(([name, value]) => `${name}: ${value}`);
  const answer = await send(url, "/console/sign-in", { method: "POST", headers, body: `token=${adminToken}` });
  return answer.headers.get("set-cookie")!.split(";")[0]!;
}
