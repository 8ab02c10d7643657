// A thousand clients that send a byte a second, beside a normal client.
import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { memoryOf, startService } from "../conformance/processes.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit } from "./audit.ts";
import { becomesTrue, inFolder, skipped, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes, startLoad } from "./load.ts";
import type { Outcomes } from "./load.ts";

const count = 1_000;
const spareDescriptors = 200;
const pairs = 3; // of measurements of the normal client, alone and among slow ones
const measuringTime = 4_000; // ms
const watchingTime = 36_000; // ms in which slow clients must be answered or closed
const maxSlowdown = 2; // of the normal client's p99
const headTime = 16_000; // ms until Node and Bun close a connection without a complete head
const bodyTime = 33_000; // ms until an incomplete body must get a 408
const maxLeft = { descriptors: 20, memory: 64 }; // more than before, memory in MiB

type Kind = "slow head" | "slow body" | "no body";
const kinds: Kind[] = ["slow head", "slow body", "no body"];

/** A client and its outcome. Times are in ms since it connected. */
type Client = { kind: Kind; socket: Socket; answer: string; answered?: number; closed?: number };

/** Connects clients, which send a byte a second each until they are stopped. */
async function startSlowClients(base: string, { key, deployId }: Tenant) {
  const { hostname, port } = new URL(base);
  const start =
    `POST /v1/prompts?deployId=${deployId} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n`;
  const clients: Client[] = [];
  while (clients.length < count) {
    const socket = connect({ host: hostname, port: Number(port) });
    const client: Client = { kind: kinds[clients.length % kinds.length]!, socket, answer: "" };
    clients.push(client);
    await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
    const connected = performance.now();
    socket.on("error", () => {});
    socket.on("data", (data) => {
      client.answer += data.toString("latin1");
      client.answered ??= performance.now() - connected;
    });
    for (const event of ["end", "close"]) socket.on(event, () => client.closed ??= performance.now() - connected);
    socket.write(client.kind === "slow head" ? start : `${start}Content-Length: 1000\r\n\r\n`);
  }

  let next = 0;
  const ticks = 100; // a second, so that they do not all send at once
  const timer = setInterval(() => {
    for (let sent = 0; sent < count / ticks; sent++) {
      const { kind, socket, closed } = clients[next++ % count]!;
      if (kind !== "no body" && closed === undefined) socket.write(kind === "slow head" ? "X" : " ");
    }
  }, 1000 / ticks);

  function stop(): void {
    clearInterval(timer);
    for (const { socket } of clients) socket.removeAllListeners("close").destroy();
  }
  return { clients, stop };
}

/** The p99 latency of the normal client, in ms. */
async function measure(base: string, tenant: Tenant, outcomes: Outcomes): Promise<number> {
  const before = outcomes.times.length;
  const load = startLoad({ bases: [base], connections: 4, tenant, outcomes });
  await sleep(measuringTime);
  await load.stop();
  const times = outcomes.times.slice(before).sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)] ?? Infinity;
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

const countDescriptors = async (pid: number) => (await readdir(`/proc/${pid}/fd`)).length;

/** Why this machine cannot open so many connections, if it cannot. */
async function findObstacle(): Promise<string | undefined> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const [, limit] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  if (limit === undefined) return "the limit of file descriptors is unknown here";
  const needed = count + spareDescriptors;
  return Number(limit) < needed ? `${needed} file descriptors are needed, ulimit -n is ${limit}` : undefined;
}

/** Checks the outcomes of the clients of a kind. */
function check(kind: Kind, runtime: Runtime, clients: Client[]): { figure: string; faults: string[] } {
  const those = clients.filter((client) => client.kind === kind);
  const status = (client: Client) => client.answer.split(" ")[1] ?? "none";
  const within = (times: (number | undefined)[]) => {
    const known = times.filter((time) => time !== undefined).map((time) => Math.round(time / 1000));
    const range = [...new Set([Math.min(...known), Math.max(...known)])].join(" to ");
    return known.length === 0 ? "0" : `${known.length} after ${range} s`;
  };
  const statuses = [...new Set(those.map(status))].join(" and ");
  const figure = `${kind}: ${those.length}, answered ${within(those.map(({ answered }) => answered))} (${statuses}), ` +
    `closed ${within(those.map(({ closed }) => closed))}`;
  const ended = kind === "slow head"
    // Deno has no time limit for a head, and no setting for one.
    ? those.filter(({ closed = Infinity }) => runtime === "Deno" || closed < headTime)
    : those.filter((client) => status(client) === "408" && client.answered! < bodyTime);
  const late = those.length - ended.length;
  return { figure, faults: late === 0 ? [] : [`${late} with a ${kind} were not ended in time`] };
}

/** Measures the normal client alone and among slow ones, alternating. Then waits until the slow ones are closed. */
export const slowClients: Fault = {
  rounds: 1,
  hit: async (runtime, rounds, say) => {
    const obstacle = await findObstacle();
    if (obstacle !== undefined) return skipped(obstacle);
    return await inFolder(async (path) => {
      const outcomes = emptyOutcomes();
      const totals: Audit = { lost: 0, doubled: 0, faults: [] };
      const figures: string[] = [];
      for (let round = 1; round <= rounds; round++) {
        const seeded = await createSeededDatabase(`file:${path}/ledger-${round}.db`);
        const { tenant } = seeded;
        const service = await startService(runtime, { DATABASE_URL: seeded.url });
        const own = emptyOutcomes();
        await measure(service.url, tenant, own);
        const before = await measureProcess(service.pid);
        const alone: number[] = [], among: number[] = [];
        let clients: Client[] = [];
        for (let pair = 1; pair <= pairs; pair++) {
          alone.push(await measure(service.url, tenant, own));
          const opened = performance.now();
          const slow = await startSlowClients(service.url, tenant);
          among.push(await measure(service.url, tenant, own));
          say(`pair ${pair} of ${pairs}: p99 ${alone.at(-1)!.toFixed(1)} ms, then ${among.at(-1)!.toFixed(1)} ms`);
          if (pair === pairs) await sleep(watchingTime - (performance.now() - opened));
          slow.stop();
          clients = slow.clients;
        }
        const isBack = async () => {
          const after = await measureProcess(service.pid);
          return after.descriptors <= before.descriptors + maxLeft.descriptors &&
            after.memory <= before.memory + maxLeft.memory;
        };
        if (!await becomesTrue(isBack, 10_000)) totals.faults.push("memory or file descriptors did not come back");
        const after = await measureProcess(service.pid);
        const code = await service.stop();
        if (code !== 0) totals.faults.push(`exit code ${code}`);
        const slowdown = median(among) / median(alone);
        if (slowdown >= maxSlowdown) totals.faults.push(`p99 was ${slowdown.toFixed(2)} times as long`);
        const checked = kinds.map((kind) => check(kind, runtime, clients));
        const found = await audit(seeded, own);
        totals.lost += found.lost;
        totals.doubled += found.doubled;
        totals.faults.push(...found.faults, ...checked.flatMap(({ faults }) => faults));
        outcomes.requests += own.requests;
        figures.push(
          `p99 ${median(alone).toFixed(1)} ms alone, ${median(among).toFixed(1)} ms among them (× ${
            slowdown.toFixed(2)
          })`,
          ...checked.map(({ figure }) => figure),
          `descriptors ${before.descriptors}, then ${after.descriptors}`,
          `memory ${before.memory} MiB, then ${after.memory}`,
        );
        say(`${round} of ${rounds}: p99 × ${slowdown.toFixed(2)}`);
      }
      return { ...totals, rounds, requests: outcomes.requests, figures: figures.join("; ") };
    });
  },
};

const measureProcess = async (pid: number) => ({
  descriptors: await countDescriptors(pid),
  memory: await memoryOf(pid, "VmRSS") ?? 0,
});
