// `records`: management over HTTP with a million records of one deployment, while the service serves: statistics, pages,
// export, deletion, pruning and verification.
import { memoryOf, startService } from "../conformance/processes.ts";
import type { Running } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { makeHistory } from "./fill.ts";
import { callOf, load, pause, postBody, warmUp } from "./load.ts";
import type { Load } from "./load.ts";
import type { Options } from "./options.ts";
import { ask, send } from "./manage.ts";
import { say, withStore } from "./stage.ts";
import { round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const history = { days: 60, kept: 30 };
const arrivals = 1000; // a second

type Target = { service: Running; tenant: Tenant };

export async function records(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  const count = options.sizes.at(-1)!;
  for (const runtime of options.runtimes) {
    for (const kind of options.stores) {
      rows.push(
        ...await withStore(kind, async ({ url }) => {
          const [tenant] = await makeHistory("records", url, { count, days: history.days });
          const service = await startService(runtime, { DATABASE_URL: url, ADMIN_TOKEN: adminToken });
          try {
            const measured = await measureAll({ service, tenant: tenant! }, options);
            return measured.map((row) => ({ runtime, store: kind, ...row }));
          } finally {
            const code = await service.stop();
            if (code !== 0) say(`records: the service ended with ${code}: ${service.output().slice(0, 2000)}`);
          }
        }),
      );
    }
  }
  return [{ title: `records: management over HTTP, ${count} records of one deployment`, rows }];
}

async function measureAll(target: Target, options: Options): Promise<Row[]> {
  const { service, tenant } = target;
  const calls = [callOf("GET")(tenant)];
  await warmUp(service.url, calls, options);
  const alone = await load(service.url, calls, { connections: 4, seconds: options.seconds });
  const rows: Row[] = [row("serving alone", options.seconds, describe(alone))];
  const timed = async (name: string, act: () => Promise<string>) => {
    const start = performance.now();
    const seen = await act();
    const seconds = (performance.now() - start) / 1000;
    say(`records: ${name}: ${round(seconds, 2)} s, ${seen}`);
    rows.push(row(name, seconds, seen));
  };
  const deployment = `/deployments/${tenant.deployId}`;
  for (const nth of ["first", "again"]) {
    await timed(`stats, ${nth}`, async () => {
      const stats = await ask(service.url, `${deployment}/stats`);
      return `${stats.records} records, p99 ${stats.versions[0].latency.p99} ms`;
    });
  }
  const { from, to } = { from: Date.now() - 40 * 86_400_000, to: Date.now() - 20 * 86_400_000 };
  await timed(
    "stats of 20 days",
    async () => `${(await ask(service.url, `${deployment}/stats?from=${from}&to=${to}`)).records}`,
  );
  for (const filter of ["", "&status=4", "&sessionId=order-77", "&text=no%20such%20text"]) {
    await timed(`a page${filter.replace("&", " of ")}`, async () => {
      const { items, nextCursor } = await ask(service.url, `${deployment}/diagnoses?limit=50${filter}`);
      return `${items.length} records${nextCursor === null ? "" : ", with a next page"}`;
    });
  }
  await timed(`pages of 1000 while ${arrivals}/s arrive`, () => pageThrough(target));
  await timed("export, NDJSON", () => exportAll(target));
  const served = async (name: string, seconds: number, act: () => Promise<string>) => {
    const serving = load(service.url, calls, { connections: 4, seconds });
    await timed(`${name}, and served meanwhile`, act);
    rows.push(row(`serving beside ${name}`, seconds, describe(await serving)));
  };
  await served("stats", 1, async () => `${(await ask(service.url, `${deployment}/stats`)).records} records`);
  await served("an export", options.seconds, () => exportAll(target));
  await timed("a session deleted", async () => {
    const { deleted } = await ask(service.url, `${deployment}/diagnoses?sessionId=order-77`, "DELETE");
    return `${deleted} records`;
  });
  await served("prune", options.seconds, async () => `${(await pruneAll(service)).records} records`);
  await served("verify", 1, async () => {
    const { balanced } = await ask(service.url, "/verify");
    if (!balanced) throw new Error("The ledger does not balance");
    return "balanced";
  });
  return rows;
}

const describe = ({ perSecond, p99 }: Load): string => `${perSecond} GET/s, p99 ${round(p99, 2)} ms`;

const row = (action: string, seconds: number, seen: string): Row => ({ action, seconds: round(seconds, 2), seen });

/** Lists all records while others arrive. Each earlier record must be listed, and none twice. */
async function pageThrough({ service, tenant }: Target): Promise<string> {
  const { records } = await ask(service.url, `/deployments/${tenant.deployId}/stats`);
  let isOver = false;
  let arrived = 0;
  const arriving = (async () => {
    while (!isOver) {
      const start = performance.now();
      await Promise.all(Array.from({ length: arrivals / 10 }, () => submit(service, tenant)));
      arrived += arrivals / 10;
      await pause(Math.max(0, 100 - (performance.now() - start)));
    }
  })();
  const seen = new Set<string>();
  let listed = 0;
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: { items: { id: string }[]; nextCursor: string | null } = await ask(
      service.url,
      `/deployments/${tenant.deployId}/diagnoses?limit=1000${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    for (const { id } of page.items) seen.add(id);
    listed += page.items.length;
    cursor = page.nextCursor;
  }
  isOver = true;
  await arriving;
  if (seen.size !== listed) throw new Error(`${listed - seen.size} records were listed twice`);
  if (listed < records || listed > records + arrived) throw new Error(`${listed} of ${records} records were listed`);
  return `${listed} records, none twice; ${arrived} arrived`;
}

const submit = (service: Running, { deployId, key }: Tenant) =>
  fetch(`${service.url}/v1/diagnosis?deployId=${deployId}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}` },
    body: postBody,
  }).then((response) => response.arrayBuffer());

async function exportAll({ service, tenant }: Target): Promise<string> {
  let highest = 0;
  const watching = setInterval(
    async () => highest = Math.max(highest, await memoryOf(service.pid, "VmRSS") ?? 0),
    200,
  );
  let lines = 0, bytes = 0;
  const response = await send(service.url, `/deployments/${tenant.deployId}/diagnoses/export`);
  for await (const chunk of response.body!) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) lines++;
  }
  clearInterval(watching);
  return `${lines} lines, ${Math.round(bytes / 1024 ** 2)} MiB; the service held ${highest} MiB at most`;
}

async function pruneAll(service: Running): Promise<{ records: number }> {
  let all = 0;
  for (;;) {
    const { records, isDone } = await ask(service.url, "/prune", "POST", { olderThanMs: history.kept * 86_400_000 });
    all += records;
    if (isDone) return { records: all };
  }
}
