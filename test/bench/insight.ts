// `insight`: statistics with cost and series, comparisons, filtered lists and sessions of a million records, over HTTP; what
// GETs keep beside a `reindex` of them; and how much larger the file is for what statistics know of a record.
import { stat } from "node:fs/promises";
import type { Session } from "../../src/management/kernel/operation.ts";
import { monthOf } from "../../src/common/month.ts";
import { readMembers } from "../../src/common/json-text.ts";
import { measuresOf } from "../../src/ledger/measures.ts";
import { adminToken } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { makeHistory } from "./fill.ts";
import type { HistorySize } from "./fill.ts";
import { callOf, load, measure, postBody, postMeasures } from "./load.ts";
import { ask } from "./manage.ts";
import type { Options } from "./options.ts";
import { say, withService, withStore } from "./stage.ts";
import type { Stage, Store } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const days = 90;
const manyDeployments = 50;
const times = 5; // that each answer is timed
const connections = 8; // of the GETs beside `reindex`
const price = { provider: "openai", model: "gpt-4o*", input: "2.5", cachedInput: "1.25", output: "10" };

export async function insight(options: Options): Promise<Table[]> {
  const count = options.sizes.at(-1)!;
  const rows: Row[] = [], reindexed: Row[] = [];
  for (const runtime of options.runtimes) {
    const measureService = async (stage: Stage, tenant: Tenant) => {
      await ask(stage.url, "/prices", "POST", price);
      rows.push(...await timeAnswers(runtime, stage, tenant));
      reindexed.push(await measureReindex(runtime, stage, tenant, options));
      say(`insight: ${JSON.stringify(reindexed.at(-1))}`);
    };
    const settings = { ADMIN_TOKEN: adminToken, LOG_LEVEL: "warn" };
    await withFilled(
      { count, days },
      (store, tenant) => withService(runtime, store, (stage) => measureService(stage, tenant), settings),
      ({ database }) => database.write([outdate]),
    );
    await withFilled(
      { count, days, deployments: manyDeployments },
      (store, tenant) =>
        withService(runtime, store, async (stage) => {
          await ask(stage.url, "/prices", "POST", price);
          rows.push(...await timeAnswers(runtime, stage, tenant, manyDeployments));
        }, settings),
    );
  }
  return [
    { title: `insight: ${count} records of one or more deployments in ${24 * days} hours, s over HTTP`, rows },
    { title: `insight: GETs at ${connections} connections beside reindex`, rows: reindexed },
    { title: "insight: size of the file", rows: await measureSizes(Math.ceil(count / 10)) },
  ];
}

/** Runs a task on a file with so many records. */
const withFilled = <T>(
  size: HistorySize,
  use: (store: Store, tenant: Tenant) => Promise<T>,
  change?: (admin: Session) => Promise<unknown>,
): Promise<T> =>
  withStore("file", async (store) => {
    const [tenant] = await makeHistory("insight", store.url, size, 1, change) as [Tenant];
    return await use(store, tenant);
  });

// A quarter of the records, so that `reindex` has something to change. It counts the same.
const outdate = { sql: "update diagnoses set measures = measures || ',[0]' where position % 4 = 0" };

async function timeAnswers(
  runtime: Runtime,
  { url }: Stage,
  { deployId, workspaceId }: Tenant,
  deployments = 1,
): Promise<Row[]> {
  const deployment = `/deployments/${deployId}`, workspace = `/workspaces/${workspaceId}`;
  const day = 86_400_000, now = Date.now();
  const paths = {
    "statistics": `${deployment}/stats`,
    "statistics by hour": `${deployment}/stats?interval=hour`,
    "comparison with itself": `/stats/compare?a=${deployId}&b=${deployId}`,
    "first page of a filtered list": `${deployment}/diagnoses?status=4&slowerThan=1000&limit=50`,
    "a list of none": `${deployment}/diagnoses?costlierThan=1000&limit=50`,
    "statistics of the workspace": `${workspace}/stats`,
    "the same by hour": `${workspace}/stats?interval=hour`,
    "its last 14 days, by day and in halves": `${workspace}/stats?interval=day&from=${now - 14 * day}&splitAt=${
      now - 7 * day
    }`,
    "its costs of the last month": `${workspace}/costs/${monthOf(now - 31 * day)}`,
    "first page of its records": `${workspace}/diagnoses?limit=50`,
    "first page of its filtered records": `${workspace}/diagnoses?status=4&slowerThan=1000&limit=50`,
    "none of its records": `${workspace}/diagnoses?costlierThan=1000&limit=50`,
    "none of its records by status": `${workspace}/diagnoses?status=77&limit=50`,
    "none of its records by text": `${workspace}/diagnoses?text=absent&limit=50`,
    "first page of sessions": `${workspace}/sessions?limit=50`,
    "first page of filtered sessions": `${workspace}/sessions?status=4&slowerThan=1000&limit=50`,
    "no session by a part of its id": `${workspace}/sessions?sessionContains=absent&limit=50`,
    "no session by text": `${workspace}/sessions?text=absent&limit=50`,
  };
  const rows: Row[] = [];
  for (const [answer, path] of Object.entries(paths)) {
    const seconds: number[] = [];
    for (let nth = 0; nth < times; nth++) {
      const start = performance.now();
      await ask(url, path);
      seconds.push((performance.now() - start) / 1000);
    }
    const [first] = seconds;
    seconds.sort((a, b) => a - b);
    const row = { runtime, deployments, answer, "first": round(first!, 2), "least": round(seconds[0]!, 2) };
    rows.push({ ...row, "median": round(seconds[times >> 1]!, 2), "most": round(seconds.at(-1)!, 2) });
    say(`insight: ${JSON.stringify(rows.at(-1))}`);
  }
  return rows;
}

/** GETs while all records are read again, and the same without that before and after it. */
async function measureReindex(
  runtime: Runtime,
  { url }: Stage,
  tenant: Tenant,
  { seconds }: Options,
): Promise<Row> {
  const pressure = { connections, seconds }, calls = [callOf("GET")(tenant)];
  const before = await measure(url, calls, pressure);
  let isOver = false, records = 0;
  const start = performance.now();
  const reindexing = (async () => {
    for (let isDone = false; !isDone && !isOver;) {
      const answer = await ask(url, "/reindex", "POST");
      records += answer.records;
      isDone = answer.isDone;
    }
    return performance.now() - start;
  })();
  const beside = await load(url, calls, pressure);
  isOver = true;
  const took = await reindexing;
  const after = await load(url, calls, pressure);
  const quiet = { perSecond: (before.perSecond + after.perSecond) / 2, p99: (before.p99 + after.p99) / 2 };
  return {
    runtime,
    "records/s": Math.round(1000 * records / took),
    "quiet/s": Math.round(quiet.perSecond),
    "of quiet": ratio(beside.perSecond, quiet.perSecond),
    "p99 quiet, ms": round(quiet.p99, 2),
    "p99 beside, ms": round(beside.p99, 2),
    "p99 × quiet": ratio(beside.p99, quiet.p99),
    failed: before.failed + beside.failed + after.failed,
  };
}

/** The same documents, of which statistics know latency and tokens alone, as before, or what they know now. */
async function measureSizes(count: number): Promise<Row[]> {
  // Statistics know the most of a record that names its model and has cached tokens.
  const document = JSON.stringify({
    ...JSON.parse(postBody),
    model: "gpt-4o-mini-2024-07-18",
    additional_properties: {
      usage: { prompt_tokens: 52, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 32 } },
    },
  });
  const kinds = { "latency and tokens": postMeasures, "all": measuresOf(JSON.parse(document), readMembers(document)) };
  const rows: Row[] = [];
  for (const [known, measures] of Object.entries(kinds)) {
    const change = async ({ database }: Session) => {
      await database.write([{ sql: "update diagnoses set measures = ?, document = ?", args: [measures, document] }]);
      await database.read({ sql: "vacuum" });
    };
    const bytes = await withFilled(
      { count, days },
      async ({ folder }) => (await stat(`${folder}/ledger.db`)).size,
      change,
    );
    rows.push({
      "known of a record": known,
      "measures": JSON.stringify(measures),
      "bytes per record": Math.round(bytes / count),
    });
  }
  const [before, now] = rows.map((row) => Number(row["bytes per record"])) as [number, number];
  return rows.map((row) => ({ ...row, "of before": ratio(row === rows[0] ? before : now, before) }));
}
