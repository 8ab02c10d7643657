// Attacks on a service's memory: bodies in tiny chunks, many bodies at once with unknown keys, bodies that are too large, and
// answers that nobody reads.
import { Buffer } from "node:buffer";
import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { send } from "../conformance/http-client.ts";
import { memoryOf, startFile, startService } from "../conformance/processes.ts";
import { adminToken, goodBody } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { newApiKey } from "../../src/common/ids.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit } from "./audit.ts";
import { becomesTrue, inFolder, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";

const mebibyte = 1024 * 1024;

type Target = { url: string; tenant: Tenant };

/** Connects, and writes the parts as fast as possible, until the server answers or closes, or all are written. */
export async function pour(
  url: string,
  head: string,
  parts: () => Iterable<Uint8Array>,
): Promise<{ socket: Socket; received: () => string }> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let received = "";
  let isClosed = false;
  socket.setEncoding("latin1").on("data", (text: string) => received += text.slice(0, 200));
  socket.on("error", () => {}).on("close", () => isClosed = true);
  await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
  socket.write(head);
  void (async () => {
    for (const part of parts()) {
      if (isClosed || received !== "") return;
      if (!socket.write(part)) await new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
    }
  })();
  return { socket, received: () => received };
}

export const headOf = (target: string, lines: string[]) =>
  `POST ${target} HTTP/1.1\r\nHost: a\r\n${lines.join("\r\n")}\r\n\r\n`;

function* zeros(bytes: number): Iterable<Buffer> {
  const part = Buffer.alloc(65_536, "x");
  for (let sent = 0; sent < bytes; sent += part.length) yield part.subarray(0, Math.min(part.length, bytes - sent));
}

function* inChunks(bytes: number): Iterable<Buffer> {
  const part = Buffer.from(`4000\r\n${"x".repeat(0x4000)}\r\n`);
  for (let sent = 0; sent < bytes; sent += 0x4000) yield part;
  yield Buffer.from("0\r\n\r\n");
}

/** A JSON body of this size in chunks of one byte each. */
function* inBytes(bytes: number): Iterable<Buffer> {
  const body = JSON.stringify({ ...goodBody, content: { input: "" } });
  const text = body.replace('""', `"${"x".repeat(bytes - body.length)}"`);
  for (let at = 0; at < text.length; at += 4096) {
    yield Buffer.from([...text.slice(at, at + 4096)].map((byte) => `1\r\n${byte}\r\n`).join(""));
  }
  yield Buffer.from("0\r\n\r\n");
}

/** The attacks. Each returns the sockets that it has opened. */
const attacks: Record<string, (target: Target, scale: number) => Promise<Socket[]>> = {
  "a body in chunks of a byte": async ({ url, tenant }) => {
    const target = `/v1/diagnosis?deployId=${tenant.deployId}`;
    const head = headOf(target, [`Authorization: Bearer ${tenant.key}`, "Transfer-Encoding: chunked"]);
    const { socket, received } = await pour(url, head, () => inBytes(mebibyte - 10));
    await becomesTrue(() => received() !== "");
    return [socket];
  },
  "bodies behind a made-up key": async ({ url, tenant }, scale) => {
    const target = `/v1/diagnosis?deployId=${tenant.deployId}`;
    const sockets: Socket[] = [];
    for (let count = 0; count < 2000 * scale; count++) {
      const length = count % 2 === 0 ? `Content-Length: ${mebibyte - 10}` : "Transfer-Encoding: chunked";
      const head = headOf(target, [`Authorization: Bearer ${newApiKey()}`, length]);
      sockets.push((await pour(url, head, () => count % 2 === 0 ? zeros(mebibyte - 10) : inChunks(mebibyte))).socket);
    }
    await sleep(1_500);
    return sockets;
  },
  "bodies without a key to nowhere": async ({ url }) => {
    const poured = await Promise.all(Array.from({ length: 8 }, () => {
      const head = headOf("/nowhere", [`Content-Length: ${63 * mebibyte}`]);
      return pour(url, head, () => zeros(63 * mebibyte));
    }));
    await sleep(1_500);
    return poured.map(({ socket }) => socket);
  },
  "exports that nobody reads": ({ url, tenant }) =>
    leaveUnread(url, `/admin/v1/deployments/${tenant.deployId}/diagnoses/export`, adminToken, 60),
  "large prompts that nobody reads": async ({ url, tenant }, scale) => {
    const messages = [{ role: "user", content: "x".repeat(900_000) }];
    const body = JSON.stringify({ name: "large", title: "Large", messages, deploy: "live" });
    const headers = [`Authorization: Bearer ${adminToken}`];
    await send(url, `/admin/v1/workspaces/${tenant.workspaceId}/publish`, { method: "POST", headers, body });
    const target = "/v1/prompts?deployId=large@live";
    // Reads that come before the first one is answered each hash the prompt.
    await send(url, target, { headers: [`Authorization: Bearer ${tenant.key}`] });
    return await leaveUnread(url, target, tenant.key, 400 * scale);
  },
};

/** Sends requests, each on a connection of its own, and reads no response. */
async function leaveUnread(url: string, target: string, token: string, total: number): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: total }, () => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("error", () => {});
    socket.pause().write(`GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    return socket;
  });
  await sleep(2_000);
  return sockets;
}

export const attackNames = Object.keys(attacks);

type Damage = Audit & { growth: number; slowest: number; requests: number };

/** Runs an attack while another client reads. `growth` of memory is in MiB, and `slowest` is its slowest read in ms. */
export async function attack(runtime: Runtime, name: string, path: string, scale = 1): Promise<Damage> {
  const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
  const { tenant } = seeded;
  const settings = { DATABASE_URL: seeded.url, ADMIN_TOKEN: adminToken, MAX_BODY_BYTES: String(64 * mebibyte) };
  const service = await startService(runtime, settings);
  const headers = [`Authorization: Bearer ${tenant.key}`];
  const target = `/v1/prompts?deployId=${tenant.deployId}`;
  const body = JSON.stringify({ ...goodBody, content: { input: "x".repeat(500_000) } });
  for (let count = 0; count < 40; count++) await send(service.url, target, { method: "POST", headers, body });
  const reader = await startFile(
    "Node",
    "test/faults/reader.ts",
    { TARGET: service.url + target, KEY: tenant.key },
    /(reading)/,
  );
  await sleep(1_000);
  const before = await memoryOf(service.pid, "VmHWM") ?? 0;
  const sockets = await attacks[name]!({ url: service.url, tenant }, scale);
  const growth = (await memoryOf(service.pid, "VmHWM") ?? 0) - before;
  await reader.stop();
  const { requests, slowest } = JSON.parse(reader.out().split("\n").at(-2)!);
  for (const socket of sockets) socket.destroy();
  const code = await service.stop();
  const found = await audit(seeded, emptyOutcomes());
  return {
    ...found,
    doubled: 0,
    faults: [...found.faults, ...(code === 0 ? [] : [`exit code ${code}`])],
    growth,
    slowest,
    requests,
  };
}

// Even a Bun or Deno server that only refuses makes others wait for 0.4 s while 2,000 connections send 1 MiB each. Bun's memory
// grows by 100 to 450 MiB then, and Node 24's by 30 to 110 MiB, twice as much as Node 20's.
export const maxGrowth: Record<Runtime, number> = { Node: 200, Bun: 600, Deno: 200 }; // MiB
const maxReadTime: Record<Runtime, number> = { Node: 300, Bun: 1_000, Deno: 1_000 }; // ms

/** Runs each attack once a round, and checks the limits. */
export const hostileBodies: Fault = {
  rounds: 1,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const totals: Audit = { lost: 0, doubled: 0, faults: [] };
      const figures: string[] = [];
      let requests = 0;
      for (let round = 1; round <= rounds; round++) {
        for (const [index, name] of attackNames.entries()) {
          const folder = `${path}/${round}-${index}`;
          await mkdir(folder);
          const damage = await attack(runtime, name, folder);
          requests += damage.requests;
          totals.faults.push(...damage.faults);
          if (damage.growth > maxGrowth[runtime]) totals.faults.push(`${name}: memory grew by ${damage.growth} MiB`);
          if (damage.slowest > maxReadTime[runtime]) {
            totals.faults.push(`${name}: a read took ${damage.slowest.toFixed(0)} ms`);
          }
          figures.push(
            `${name}: memory +${damage.growth} MiB, another client's slowest read ${damage.slowest.toFixed(0)} ms`,
          );
          say(`${round} of ${rounds}, ${figures.at(-1)}`);
        }
      }
      return { ...totals, rounds, requests, figures: figures.join("; ") };
    }),
};
