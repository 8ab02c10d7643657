// A thousand clients that send a byte a second, and one that is good.
import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { memoryOf, startService } from "../conformance/processes.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createBooks } from "./books.ts";
import type { Audit } from "./books.ts";
import { becomesTrue, inFolder, skipped, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes, startLoad } from "./load.ts";
import type { Outcomes } from "./load.ts";

const count = 1_000;
const spareDescriptors = 200;
const pairs = 3; // of times that the good client is measured, alone and among slow ones
const measuringTime = 4_000; // ms
const watchingTime = 36_000; // ms in which slow clients are seen to be answered, or closed
const mostSlowdown = 2; // times the good client's p99
const headTime = 16_000; // ms in which Node and Bun close a connection whose head does not come
const bodyTime = 33_000; // ms in which a body that does not come must have been answered with 408
const mostLeft = { descriptors: 20, memory: 64 }; // more than before; MiB

type Kind = "slow head" | "slow body" | "no body";
const kinds: Kind[] = ["slow head", "slow body", "no body"];

/** What became of a client; times in ms since it was connected. */
type Client = { kind: Kind; socket: Socket; answer: string; answered?: number; closed?: number };

/** Connects clients, and sends a byte of each in every second until they are stopped. */
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

/** How long an answer takes at the 99th percentile, in ms, when a good client sends one after the other. */
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

/** Why so many connections cannot be had, if they cannot. */
async function findObstacle(): Promise<string | undefined> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const [, limit] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  if (limit === undefined) return "the limit of file descriptors is not told here";
  const needed = count + spareDescriptors;
  return Number(limit) < needed ? `${needed} file descriptors are needed, ulimit -n is ${limit}` : undefined;
}

/** What became of the clients of a kind, as a figure, and what must not be. */
function judge(kind: Kind, runtime: Runtime, clients: Client[]): { figure: string; faults: string[] } {
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
    // Deno has no limit of its own for a head, and lets no one else set one.
    ? those.filter(({ closed = Infinity }) => runtime === "Deno" || closed < headTime)
    : those.filter((client) => status(client) === "408" && client.answered! < bodyTime);
  const late = those.length - ended.length;
  return { figure, faults: late === 0 ? [] : [`${late} with a ${kind} were not ended in time`] };
}

/** The good client is measured alone and among slow ones in turns, then the slow ones are watched until their end. */
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
        const books = await createBooks(`file:${path}/ledger-${round}.db`);
        const { tenant } = books;
        const service = await startService(runtime, { DATABASE_URL: books.url });
        const own = emptyOutcomes();
        await measure(service.url, tenant, own);
        const before = await takeStock(service.pid);
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
          const after = await takeStock(service.pid);
          return after.descriptors <= before.descriptors + mostLeft.descriptors &&
            after.memory <= before.memory + mostLeft.memory;
        };
        if (!await becomesTrue(isBack, 10_000)) totals.faults.push("memory or file descriptors did not come back");
        const after = await takeStock(service.pid);
        const code = await service.stop();
        if (code !== 0) totals.faults.push(`exit code ${code}`);
        const slowdown = median(among) / median(alone);
        if (slowdown >= mostSlowdown) totals.faults.push(`p99 was ${slowdown.toFixed(2)} times as long`);
        const judged = kinds.map((kind) => judge(kind, runtime, clients));
        const found = await audit(books, own);
        totals.lost += found.lost;
        totals.doubled += found.doubled;
        totals.faults.push(...found.faults, ...judged.flatMap(({ faults }) => faults));
        outcomes.requests += own.requests;
        figures.push(
          `p99 ${median(alone).toFixed(1)} ms alone, ${median(among).toFixed(1)} ms among them (× ${
            slowdown.toFixed(2)
          })`,
          ...judged.map(({ figure }) => figure),
          `descriptors ${before.descriptors}, then ${after.descriptors}`,
          `memory ${before.memory} MiB, then ${after.memory}`,
        );
        say(`${round} of ${rounds}: p99 × ${slowdown.toFixed(2)}`);
      }
      return { ...totals, rounds, requests: outcomes.requests, figures: figures.join("; ") };
    });
  },
};

const takeStock = async (pid: number) => ({
  descriptors: await countDescriptors(pid),
  memory: await memoryOf(pid, "VmRSS") ?? 0,
});
