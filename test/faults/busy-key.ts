// What one API key causes on eight connections while another workspace reads: feedback on sessions that do not exist, in a long
// log, and feedback for which the waiting room has no place left.
import { openConnection, serialize } from "../conformance/http-client.ts";
import { startFile, startService } from "../conformance/processes.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { waitingLimits } from "../../src/feedback/waiting-feedback.ts";
import type { Session } from "../../src/management/kernel/operation.ts";
import { migrate } from "../../src/migrate.ts";
import { fillHistory } from "../bench/fill.ts";
import { createTenant, managementOf } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { audit } from "./audit.ts";
import { inFolder, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";
import type { Outcomes } from "./load.ts";

/** What the database has before, and the pieces of each request. */
type Burden = {
  fill(admin: Session, tenant: Tenant): Promise<unknown>;
  pieces(tenant: Tenant, nth: number): object[];
};

const connections = 8; // of the key
const readers = 4; // connections of the other workspace
const time = 4_000; // ms of reading
const leastShare = 0.4; // of the reads without the key

/** Sends requests on connections, one after the other, until `isOver`. */
async function sendUntil(base: string, next: () => Uint8Array, isOver: () => boolean): Promise<Outcomes> {
  const outcomes = emptyOutcomes(), { statuses } = outcomes;
  await Promise.all(Array.from({ length: connections }, async () => {
    const connection = openConnection(base);
    await connection.opened;
    while (!isOver()) {
      connection.write(next());
      const { status } = await connection.readAnswer();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      outcomes.requests++;
    }
    connection.close();
  }));
  return outcomes;
}

/** How many reads of a tenant are answered in a second. A process of its own sends them. */
async function readRate(base: string, { key, deployId }: Tenant): Promise<number> {
  const target = `${base}/v1/prompts?deployId=${deployId}`;
  const settings = { TARGET: target, KEY: key, CONNECTIONS: String(readers), PAUSE: "0" };
  const reader = await startFile("Node", "test/faults/reader.ts", settings, /(reading)/);
  await sleep(time);
  await reader.stop();
  const { requests, seconds } = JSON.parse(reader.out().split("\n").at(-2)!);
  return requests / seconds;
}

const busyKey = ({ fill, pieces }: Burden): Fault => ({
  rounds: 3,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const url = `file:${path}/ledger.db`;
      await migrate(url);
      const database = openDatabase(url, "serve"), admin = managementOf(database, Date.now);
      const tenant = await createTenant(admin, 1e9), other = await createTenant(admin, 1e9, "Other");
      await fill(admin, tenant);
      await database.close();
      const { url: base, stop } = await startService(runtime, { DATABASE_URL: url, FEEDBACK: "true" });
      const headers = [`Authorization: Bearer ${tenant.key}`];
      const figures: string[] = [], slow: string[] = [], faults: string[] = [];
      let requests = 0;
      await readRate(base, other);
      for (let round = 1; round <= rounds; round++) {
        let isOver = false, nth = 0;
        const before = await readRate(base, other);
        const sending = sendUntil(
          base,
          () => {
            const all = pieces(tenant, nth++);
            const isRecords = "status" in all[0]!;
            const body = JSON.stringify({ [isRecords ? "records" : "feedback"]: all });
            return serialize(
              base,
              isRecords ? "/v1/diagnoses" : "/v1/feedback",
              { method: "POST", headers, body },
              "keep-alive",
            );
          },
          () => isOver,
        );
        await sleep(1_000);
        const beside = await readRate(base, other);
        isOver = true;
        const outcomes = await sending, quiet = (before + await readRate(base, other)) / 2;
        requests += outcomes.requests;
        for (const status of outcomes.statuses.keys()) {
          if (![200, 429, 503].includes(status)) faults.push(`the key got ${status}`);
        }
        const share = beside / quiet;
        const figure = `another workspace keeps ${share.toFixed(2)} of ${quiet.toFixed(0)} reads a second beside ${
          spread(outcomes)
        }`;
        figures.push(figure);
        if (share < leastShare) slow.push(figure);
        say(`${round} of ${rounds}: ${figure}`);
      }
      if (await stop() !== 0) faults.push("the service did not exit with 0");
      // What the database had before is in no answer.
      faults.push(...(await audit({ url, tenant }, emptyOutcomes())).faults);
      return { lost: 0, doubled: 0, faults, slow, rounds, requests, figures: figures.join("; ") };
    }),
});

export const unknownSessions = busyKey({
  fill: (admin, tenant) => fillHistory(admin, tenant, { count: 300_000, days: 30 }),
  pieces: ({ deployId }, nth) =>
    Array.from({ length: 20 }, (_, index) => ({
      ...{ sessionId: `none-${nth}-${index}`, deployId, name: "thumb", value: true },
    })),
});

export const batchesOfRecords = busyKey({
  fill: async () => {},
  pieces: ({ deployId }) =>
    Array.from({ length: 500 }, (_, index) => ({
      ...{ deployId, sessionId: `s-${index}`, status: 1, content: { output: "Here is your answer. ".repeat(10) } },
    })),
});

export const fullWaitingRoom = busyKey({
  fill: ({ database, clock }, { workspaceId }) =>
    database.write([
      {
        sql: "insert into feedback_names (workspace_id, name, kind, is_declared) values (?, 'thumb', 'boolean', 0)",
        args: [workspaceId],
      },
      {
        sql: `with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < :count)
          insert into waiting_feedback (workspace_id, key, name, author, value, comment, source, given_at)
          select :workspaceId, printf('%064x', n), 'thumb', '', 1, '', 'user', :now from numbers`,
        args: { workspaceId, count: waitingLimits.workspace, now: clock() },
      },
    ]),
  pieces: (_, nth) => [{ record: `order-${nth}`, name: "thumb", value: true }],
});
