// `feedback`: what GETs and POSTs keep beside the face and beside feedback in the store, pieces per second over HTTP, statistics
// of as many pieces as records, and the bytes of a record without feedback.
import { stat } from "node:fs/promises";
import { migrate } from "../../src/migrate.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import type { Session } from "../../src/management/kernel/operation.ts";
import { openConnection, serialize } from "../conformance/http-client.ts";
import { adminToken, managementOf } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { fillHistory, makeHistory } from "./fill.ts";
import { callOf, load, methods, postBody, warmUp } from "./load.ts";
import { ask } from "./manage.ts";
import type { Options } from "./options.ts";
import { cpuTime, createTenants, say, withFreshService, withService, withStore } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const pairs = 5;
const records = 10_000; // that feedback is given on
const piecesInBatch = 500;
const batchConnections = 4;
const times = 5; // that statistics are timed
const settings = { ADMIN_TOKEN: adminToken, LOG_LEVEL: "warn" };
const withFace = { ...settings, FEEDBACK: "true" };

export async function feedback(options: Options): Promise<Table[]> {
  const beside: Row[] = [], given: Row[] = [], counted: Row[] = [];
  const count = options.sizes.at(-1)!;
  for (const runtime of options.runtimes) {
    say(`feedback: ${runtime}, pairs`);
    beside.push(...await measurePairs(runtime, options));
    say(`feedback: ${runtime}, pieces`);
    given.push(await measureGiving(runtime, options));
    counted.push(...await timeStatistics(runtime, count));
  }
  return [
    { title: `feedback: medians of ${pairs} pairs at ${options.connections} connections, on a file`, rows: beside },
    { title: `feedback: pieces per second, each a row that was not there`, rows: given },
    { title: `feedback: statistics of ${count} records with a piece each, s over HTTP`, rows: counted },
    { title: "feedback: bytes per record without feedback", rows: await measureSizes(Math.ceil(count / 10)) },
  ];
}

const median = (numbers: number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!;

/** Loads three services in turn: one without the face, one with it, and one with feedback in its store too. */
const measurePairs = (runtime: Runtime, options: Options): Promise<Row[]> =>
  withTenant(
    runtime,
    settings,
    (without) =>
      withTenant(runtime, withFace, (beside) =>
        withTenant(runtime, withFace, async (full) => {
          await giveMany(full, await submitRecords(full), Infinity);
          const rows: Row[] = [];
          for (const method of methods) {
            const places = [without, beside, full].map(({ stage, tenant }) => ({
              url: stage.url,
              calls: [callOf(method)(tenant)],
            }));
            const rates: number[][] = [];
            let failed = 0;
            for (const { url, calls } of places) await warmUp(url, calls, options);
            for (let pair = 0; pair < pairs; pair++) {
              const loads = [];
              for (const { url, calls } of places) loads.push(await load(url, calls, options));
              rates.push(loads.map(({ perSecond }) => perSecond));
              failed += loads.reduce((sum, load) => sum + load.failed, 0);
            }
            rows.push({
              ...{ runtime, method, "without the face/s": median(rates.map(([rate]) => rate!)) },
              "with the face": ratio(median(rates.map(([rate, withFace]) => withFace! / rate!)), 1),
              "with feedback in the store": ratio(
                median(rates.map(([rate, _, withFeedback]) => withFeedback! / rate!)),
                1,
              ),
              failed,
            });
          }
          return rows;
        })),
  );

type Place = { stage: Stage; tenant: Tenant };

const withTenant = <T>(runtime: Runtime, env: Record<string, string>, use: (place: Place) => Promise<T>): Promise<T> =>
  withFreshService(runtime, "file", async (stage) => {
    const [tenant] = await createTenants(stage.admin, 1);
    return await use({ stage, tenant: tenant! });
  }, env);

/** Sends requests on a connection, one after the other, and hands over each answer. */
async function sendAll(
  { stage, tenant }: Place,
  next: () => { method: string; path: string; body: string } | undefined,
  took: (text: string, status: number) => void,
): Promise<void> {
  const headers = [`Authorization: Bearer ${tenant.key}`, "Content-Type: application/json"];
  const connection = openConnection(stage.url);
  await connection.opened;
  for (let request = next(); request !== undefined; request = next()) {
    const { path, ...rest } = request;
    connection.write(serialize(stage.url, path, { ...rest, headers }, "keep-alive"));
    const { text, status } = await connection.readAnswer();
    took(text, status);
  }
  connection.close();
}

/** Submits records, and returns their ids. */
async function submitRecords(place: Place): Promise<string[]> {
  const ids: string[] = [];
  const record = `{"deployId":"${place.tenant.deployId}",${postBody.slice(1)}`;
  const body = `{"records":[${Array(piecesInBatch).fill(record).join()}]}`;
  const next = () => ids.length < records ? { method: "POST", path: "/v1/diagnoses", body } : undefined;
  await sendAll(place, next, (text) => {
    for (const { id } of JSON.parse(text).results as { id: string }[]) ids.push(id);
  });
  return ids;
}

type Given = { stored: number; failed: number; perSecond: number };

/** Gives feedback in batches: a new name for each round over the records, for some seconds or one round. */
async function giveMany(place: Place, ids: string[], seconds: number): Promise<Given> {
  let sent = 0, stored = 0, failed = 0;
  const began = performance.now(), isOneRound = seconds === Infinity;
  const next = () => {
    const isOver = isOneRound ? sent >= ids.length : performance.now() - began > 1000 * seconds;
    if (isOver) return undefined;
    const pieces = Array.from({ length: piecesInBatch }, (_, nth) => {
      const at = sent + nth;
      return { record: ids[at % ids.length], name: `n${Math.floor(at / ids.length)}`, value: at % 5 };
    });
    sent += piecesInBatch;
    return { method: "POST", path: "/v1/feedback", body: JSON.stringify({ feedback: pieces }) };
  };
  const took = (text: string) => {
    const accepted = text.match(/"isChanged":true/g)?.length ?? 0;
    stored += accepted;
    failed += piecesInBatch - accepted;
  };
  await Promise.all(Array.from({ length: batchConnections }, () => sendAll(place, next, took)));
  return { stored, failed, perSecond: round(1000 * stored / (performance.now() - began), 0) };
}

/** The same with a request for each piece, on many connections. */
async function giveEach(place: Place, ids: string[], { seconds, connections }: Options): Promise<Given> {
  let sent = 0, stored = 0, failed = 0;
  const began = performance.now();
  const next = () => {
    if (performance.now() - began > 1000 * seconds) return undefined;
    const at = sent++;
    const path = `/v1/diagnosis/${ids[at % ids.length]}/feedback/each${Math.floor(at / ids.length)}`;
    return { method: "PUT", path, body: `{"value":${at % 5}}` };
  };
  const took = (_: string, status: number) => status === 200 ? stored++ : failed++;
  await Promise.all(Array.from({ length: connections }, () => sendAll(place, next, took)));
  return { stored, failed, perSecond: round(1000 * stored / (performance.now() - began), 0) };
}

const measureGiving = (runtime: Runtime, options: Options): Promise<Row> =>
  withTenant(runtime, withFace, async (place) => {
    const ids = await submitRecords(place);
    await giveMany(place, ids, Infinity);
    const other = await submitRecords(place);
    const { pid } = place.stage, before = await cpuTime(pid);
    const many = await giveMany(place, other, options.seconds);
    const cpu = await cpuTime(pid) - before;
    const each = await giveEach(place, await submitRecords(place), options);
    return {
      ...{ runtime, [`in batches of ${piecesInBatch}`]: many.perSecond },
      ...{ "CPU ms per 1,000 of them": round(cpu / many.stored, 1), "PUTs": each.perSecond },
      failed: many.failed + each.failed,
    };
  });

const fill = ({ database }: Session, { workspaceId }: Tenant) =>
  database.write([
    {
      sql: "insert into feedback_names (workspace_id, name, kind, is_declared) values (?, 'thumb', 'boolean', 0)",
      args: [workspaceId],
    },
    {
      sql: `insert into feedback (position, name, author, value, comment, source, given_at, change)
        select position, 'thumb', '', position % 3 > 0, '', 'user', 1, 1 from diagnoses`,
    },
  ]);

async function timeStatistics(runtime: Runtime, count: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const hasFeedback of [false, true]) {
    await withStore("file", async (store) => {
      const size = { count, days: 90 };
      const [tenant] = await makeHistory("feedback", store.url, size, 1, hasFeedback ? fill : undefined) as [Tenant];
      await withService(runtime, store, async ({ url }) => {
        const deployment = `/deployments/${tenant.deployId}/stats`;
        const timed = async (path: string) => {
          const seconds: number[] = [];
          for (let time = 0; time < times; time++) {
            const began = performance.now();
            await ask(url, path);
            seconds.push((performance.now() - began) / 1000);
          }
          return round(median(seconds), 2);
        };
        rows.push({
          ...{ runtime, pieces: hasFeedback ? count : 0, statistics: await timed(deployment) },
          "by day": await timed(`${deployment}?interval=day`),
          "of the workspace": await timed(`/workspaces/${tenant.workspaceId}/stats`),
        });
      }, withFace);
    });
  }
  return rows;
}

const withoutFeedback = [
  ...["trigger idempotency_keys_take_feedback", "trigger diagnoses_drop_feedback"],
  ...["table feedback", "table earlier_feedback", "table feedback_names", "table waiting_feedback"],
  ...["table feedback_counts", "table feedback_histories", "table feedback_words"],
].map((what) => ({ sql: `drop ${what}` }));

/** The size of a file with records alone: as it is, and without the tables of feedback. */
async function measureSizes(count: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const hasTables of [true, false]) {
    await withStore("file", async ({ url, folder }) => {
      await migrate(url);
      const database = openDatabase(url, "serve");
      const admin = managementOf(database, Date.now);
      const [tenant] = await createTenants(admin, 1);
      if (!hasTables) await database.write(withoutFeedback);
      const file = `${folder}/ledger.db`;
      await fillHistory(admin, tenant!, { count, days: 90 });
      await database.close();
      rows.push({
        "tables of feedback": hasTables ? "there" : "not there",
        "bytes per record": round((await stat(file)).size / count, 1),
      });
    });
  }
  return rows;
}
