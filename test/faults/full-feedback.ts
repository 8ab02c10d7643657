// One key gives as much feedback as it may, as long as it may be, all of it different. Then people look at it, and at the
// workspace beside it, alerts are checked, and the service starts again.
import { openDatabase } from "../../src/database/file/open.ts";
import { send } from "../conformance/http-client.ts";
import { findFreePort, memoryOf, startFile, startService, startSqld } from "../conformance/processes.ts";
import { requireSqld } from "../conformance/sqld.ts";
import { adminToken, createTenant, goodBody, managementOf } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { longest } from "../stored-feedback.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit } from "./audit.ts";
import { becomesTrue, inFolder, seconds } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";

/** How many pieces. A workspace may give as many in a minute. */
export const scale = { pieces: 60_000 };

const perRecord = 100, perRequest = 500;
const maxGrowth = 250; // MiB, with what the traffic itself takes
const maxLook = 5_000, maxRead = 1_000; // ms

type Answer = { status: number; text: string; ms: number };

async function ask(base: string, method: string, path: string, token: string, body?: object): Promise<Answer> {
  const began = performance.now();
  const headers = [`Authorization: Bearer ${token}`, "Content-Type: application/json"];
  const { status, text } = await send(base, path, { method, headers, ...body && { body: JSON.stringify(body) } });
  return { status, text, ms: performance.now() - began };
}

/** Submits records and gives the longest feedback on them. Returns what was not accepted. */
async function fill(base: string, { key, deployId }: Tenant): Promise<string[]> {
  const faults: string[] = [];
  const records = Array.from({ length: perRequest }, () => ({ ...goodBody, deployId }));
  for (let sent = 0; sent < scale.pieces; sent += perRequest * perRecord) {
    const { text } = await ask(base, "POST", "/v1/diagnoses", key, { records });
    const ids = (JSON.parse(text).results as { id: string }[]).map(({ id }) => id);
    for (let at = 0; at < perRequest * perRecord && sent + at < scale.pieces; at += perRequest) {
      const feedback = Array.from({ length: perRequest }, (_, nth) => {
        const place = (at + nth) % perRecord;
        return {
          ...{ record: ids[Math.floor((at + nth) / perRecord)], name: longest.name(place % 50) },
          ...{ author: longest.author(Math.floor(place / 50)), value: longest.label(sent + at + nth) },
        };
      });
      const { status, text } = await ask(base, "POST", "/v1/feedback", key, { feedback });
      const stored = text.match(/"status":200/g)?.length ?? 0;
      if (stored !== perRequest) faults.push(`${perRequest - stored} of ${perRequest} pieces were refused (${status})`);
    }
  }
  return faults;
}

type Look = { slowest: number; faults: string[] };

/** Looks at the statistics of a workspace as the console does. */
async function lookAt(base: string, { deployId, workspaceId }: Tenant, feedback: number): Promise<Look> {
  const day = 86_400_000, now = Date.now(), splitAt = now - 7 * day;
  const look: Look = { slowest: 0, faults: [] };
  const paths = [
    `/deployments/${deployId}/stats`,
    `/workspaces/${workspaceId}/stats?from=${splitAt - 7 * day}&splitAt=${splitAt}&interval=day`,
    `/workspaces/${workspaceId}/sessions`,
  ];
  for (const path of [...paths, ...paths]) {
    const { status, text, ms } = await ask(base, "GET", `/admin/v1${path}`, adminToken);
    look.slowest = Math.max(look.slowest, ms);
    if (status !== 200) look.faults.push(`${path} got ${status}`);
    else if (path === paths[0] && JSON.parse(text).all.feedback.length !== feedback) {
      look.faults.push(`${path} is wrong`);
    }
  }
  return look;
}

const fullFeedback = (open: (path: string) => Promise<{ url: string; close(): Promise<unknown> }>): Fault => ({
  rounds: 1,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const totals: Required<Audit> = { lost: 0, doubled: 0, faults: [], slow: [] }, figures: string[] = [];
      let requests = 0;
      for (let round = 1; round <= rounds; round++) {
        const { url, close } = await open(`${path}/${round}`);
        const found = await hitOne(runtime, url);
        await close();
        totals.faults.push(...found.faults);
        totals.slow.push(...found.slow);
        requests += found.requests;
        figures.push(found.figures);
        say(`${round} of ${rounds}, ${found.figures}`);
      }
      return { ...totals, rounds, requests, figures: figures.join("; ") };
    }),
});

async function hitOne(runtime: Runtime, url: string) {
  const seeded = await createSeededDatabase(url);
  const database = openDatabase(url, "manage");
  const other = await createTenant(managementOf(database, Date.now), 1_000_000_000, "Other");
  await database.close();
  const settings = { DATABASE_URL: url, ADMIN_TOKEN: adminToken, PORT: String(await findFreePort()) };
  let service = await startService(runtime, settings);
  const { url: base } = service, { tenant } = seeded;
  const before = await memoryOf(service.pid, "VmRSS") ?? 0;
  const alert = { condition: "records>0", overMs: 3_600_000 };
  const created = await ask(base, "POST", `/admin/v1/workspaces/${other.workspaceId}/alerts`, adminToken, alert);
  const { text } = await ask(base, "POST", `/v1/diagnosis?deployId=${other.deployId}`, other.key, goodBody);
  const usual = Array.from({ length: 10 }, (_, nth) => ({ record: JSON.parse(text).id, name: `n${nth}`, value: nth }));
  await ask(base, "POST", "/v1/feedback", other.key, { feedback: usual });
  const target = `${base}/v1/prompts?deployId=${other.deployId}`;
  const reader = await startFile("Node", "test/faults/reader.ts", { TARGET: target, KEY: other.key }, /(reading)/);
  const faults = await fill(base, tenant);
  const own = await lookAt(base, tenant, 50), theirs = await lookAt(base, other, 10);
  const growth = (await memoryOf(service.pid, "VmHWM") ?? 0) - before;
  await reader.stop();
  const { requests, slowest } = JSON.parse(reader.out().split("\n").at(-2)!) as { requests: number; slowest: number };
  await service.stop("SIGKILL");
  service = await startService(runtime, settings);
  const hasFired = await becomesTrue(async () => {
    const { text } = await ask(base, "GET", `/admin/v1/alerts/${JSON.parse(created.text).id}`, adminToken);
    return JSON.parse(text).state === "firing";
  });
  if (!hasFired) faults.push("an alert of another workspace did not fire");
  const again = await memoryOf(service.pid, "VmHWM") ?? 0;
  await service.stop();
  const found = await audit(seeded, emptyOutcomes());
  if (growth > maxGrowth) faults.push(`memory grew by ${growth} MiB`);
  const slow = [
    ...own.slowest > maxLook ? [`statistics took ${seconds(own.slowest)}`] : [],
    ...theirs.slowest > maxRead ? [`statistics of another workspace took ${seconds(theirs.slowest)}`] : [],
    ...slowest > maxRead ? [`a read of another workspace took ${seconds(slowest)}`] : [],
  ];
  const figures =
    `${scale.pieces} pieces: memory +${growth} MiB, ${again} MiB after a start with its check of alerts, ` +
    `statistics ${seconds(own.slowest)}, of another workspace ${seconds(theirs.slowest)}, its slowest read ${
      seconds(slowest)
    }`;
  return { faults: [...faults, ...own.faults, ...theirs.faults, ...found.faults], slow, requests, figures };
}

export const fullFeedbackOnFile = fullFeedback((path) =>
  Promise.resolve({ url: `file:${path}.db`, close: () => Promise.resolve() })
);

export const fullFeedbackOnServer = fullFeedback(async (path) => {
  const sqld = await startSqld(await requireSqld(), path);
  return { url: sqld.url, close: () => sqld.stop("SIGKILL") };
});
