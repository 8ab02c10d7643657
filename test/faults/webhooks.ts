// Kills services that send to webhooks whose receiver fails at random, each in turn, while events are made.
import { Webhook } from "standardwebhooks";
import { send } from "../conformance/http-client.ts";
import { startService, startSqld, until } from "../conformance/processes.ts";
import { requireSqld } from "../conformance/sqld.ts";
import type { Delivery } from "../../src/management/events/webhook-deliveries.ts";
import type { NewWebhook } from "../../src/management/events/webhooks.ts";
import { adminToken } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { createReceiver, manage } from "../runtime/receiver.ts";
import { inFolder, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";

const failing = 0.05; // of the requests
const done = 200, busy = 503; // statuses of a change
const pause = 2_000; // ms between two looks at what is done
// ms. A webhook gets its events one after the other, and nothing for a minute after a kill of the process that sends to it.
const patience = 900_000;

/** How a run goes: on how many processes, how many events and kills it has, and random numbers from 0 to 1. */
export type Run = { processes: number; events: number; kills: number; random(): number };

/** What is wrong in the end, how many events never arrived, and how many requests the receiver got. */
type Outcome = { faults: string[]; lost: number; requests: number };

/** Makes events on a database, kills, and waits until everything is delivered. */
export async function sendWhileKilled(
  runtime: Runtime,
  url: string,
  { processes, events, kills, random }: Run,
  say: (text: string) => void = () => {},
): Promise<Outcome> {
  const names = new Map<string, Set<string>>(), secrets = new Map<string, string>(), faults: string[] = [];
  const receiver = await createReceiver((response, { path, headers, body }) => {
    try {
      // The library refuses what is older than five minutes.
      const verified = new Webhook(secrets.get(path)!).verify(body, headers) as { data: { after: { name: string } } };
      names.get(path)!.add(verified.data.after.name);
    } catch (error) {
      faults.push(`${path} got ${headers["webhook-id"]} with a wrong signature: ${String(error)}`);
    }
    const fails = random() < failing;
    if (fails && random() < 0.5) response.destroy();
    else response.writeHead(fails ? 500 : 204).end();
  });
  const settings = { DATABASE_URL: url, ADMIN_TOKEN: adminToken, WEBHOOK_ALLOW: receiver.host };
  const start = () => startService(runtime, settings);
  // The first one makes the schema.
  const services = [await start()];
  while (services.length < processes) services.push(await start());
  const at = (nth: number) => services[nth % processes]!.url;
  const { id: workspaceId } = await manage<{ id: string }>(at(0), "POST", "/workspaces", { name: "Acme" });
  const webhooks: NewWebhook[] = [];
  for (const nth of [1, 2]) {
    const body = { url: `${receiver.url}/${nth}`, events: "workspace.updated" };
    const webhook = await manage<NewWebhook>(at(0), "POST", "/webhooks", body);
    const { pathname } = new URL(body.url);
    names.set(pathname, new Set());
    secrets.set(pathname, webhook.secret!);
    webhooks.push(webhook);
  }
  const step = Math.ceil(events / kills);
  for (let nth = 0, killed = 0; nth < events; nth++) {
    await until(() => rename(at(nth), workspaceId, `Name ${nth}`));
    if (nth % step !== Math.floor(step / 2)) continue;
    const victim = killed++ % processes;
    await services[victim]!.stop("SIGKILL");
    services[victim] = await start();
    say(`${killed} of ${kills}`);
  }
  for (const webhook of webhooks) await until(() => isDone(at(0), webhook, events), patience);
  await Promise.all(services.map((service) => service.stop()));
  receiver.close();
  const expected = Array.from({ length: events }, (_, nth) => `Name ${nth}`);
  let lost = 0;
  for (const [path, got] of names) {
    const missing = expected.filter((name) => !got.has(name)).length;
    // What came first keeps the order of the log.
    if (missing === 0 && [...got].join() !== expected.join()) faults.push(`${path} got the events in another order`);
    lost += missing;
  }
  return { faults, lost, requests: receiver.received.length };
}

/**
 * Renames a workspace. Returns whether it has the name. After a kill, the server may hold a transaction for some seconds, and a
 * change that found the database busy may have been made.
 */
async function rename(base: string, workspaceId: string, name: string): Promise<boolean> {
  const headers = [`Authorization: Bearer ${adminToken}`, "Content-Type: application/json"];
  const path = `/admin/v1/workspaces/${workspaceId}`;
  const { status, text } = await send(base, path, { method: "PATCH", headers, body: JSON.stringify({ name }) });
  if (status === busy) return (await send(base, path, { headers })).text.includes(`"name":"${name}"`);
  if (status !== done) throw new Error(`The change got ${status}: ${text}`);
  return true;
}

/** Whether all events are delivered. What failed waits for its time, and is sent at once instead. */
async function isDone(base: string, { id }: NewWebhook, events: number): Promise<boolean> {
  await manage(base, "POST", `/webhooks/${id}/resend`, { since: 0, failed: true });
  await sleep(pause);
  const list = async (query: string) =>
    (await manage<{ items: Delivery[] }>(base, "GET", `/webhooks/${id}/deliveries?${query}`)).items;
  const [newest] = await list("limit=1");
  return newest?.number === events && newest.outcome === "delivered" &&
    (await list("failed=true&limit=1")).length === 0;
}

/** How many events `npm run faults` makes. */
const scale = { events: 5_000 };

const webhooksKilled = (
  processes: number,
  open: (path: string) => Promise<{ url: string; close(): Promise<unknown> }>,
): Fault => ({
  rounds: 6,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const { url, close } = await open(path), { events } = scale;
      const found = await sendWhileKilled(runtime, url, { processes, events, kills: rounds, random: Math.random }, say);
      await close();
      return { ...found, doubled: 0, rounds, figures: `${events} events to 2 webhooks from ${processes} processes` };
    }),
});

/** A file has one process that serves it. */
export const webhooksOnFile = webhooksKilled(
  1,
  (path) => Promise.resolve({ url: `file:${path}/ledger.db`, close: () => Promise.resolve() }),
);

export const webhooksOnServer = webhooksKilled(3, async (path) => {
  const sqld = await startSqld(await requireSqld(), `${path}/data`);
  return { url: sqld.url, close: () => sqld.stop("SIGKILL") };
});
