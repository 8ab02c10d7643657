// The services of a simulated month: each on a port of its own behind a proxy that can lose replies, and all on the date that
// the test sets. One can be killed while the others go on.
import { adminToken } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { createClock } from "../runtime/clock.ts";
import { findFreePort, startFile } from "../conformance/processes.ts";
import { sleep } from "./fault.ts";
import { startProxy } from "./proxy.ts";

const patience = 60_000; // ms for one request, with all its attempts

export type Answer = { status: number; text: string };

export type Services = {
  /** Sends a request once, to any of them. Rejects if there is no answer. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Sends a request until it is answered, by any of them. */
  send(path: string, init?: RequestInit): Promise<Answer>;
  manage(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  setDate(ms: number): void;
  /** Kills one, and starts it again. */
  kill(nth: number): Promise<void>;
  /** Loses all replies of one for some ms. */
  loseReplies(nth: number, ms: number): Promise<void>;
  lost(): number;
  /** How many attempts had no answer. */
  unanswered(): number;
  stop(): Promise<void>;
};

type Service = Awaited<ReturnType<typeof startFile>>;

/** Starts so many services on a database. */
export async function startServices(url: string, count: number, folder: string, date: number): Promise<Services> {
  const clock = createClock(`${folder}/date`);
  clock.set(date);
  /** Starts one as a supervisor does: it ends if the first reply of the server is lost. */
  async function start(port: number, attempts = 5): Promise<Service> {
    const settings = { ...clock.settings, DATABASE_URL: url, ADMIN_TOKEN: adminToken, PORT: String(port) };
    try {
      return await startFile("Node", "test/runtime/serve-on-date.ts", settings, /Listening.*?(http:\/\/[\d.]+:\d+)/);
    } catch (error) {
      if (attempts === 1) throw error;
      return await start(port, attempts - 1);
    }
  }

  const running = await Promise.all(Array.from({ length: count }, async () => {
    const port = await findFreePort();
    const service = await start(port);
    return { port, service, proxy: await startProxy(service.seen) };
  }));
  let unanswered = 0;

  const fetchAny = (path: string, init?: RequestInit): Promise<Response> => {
    const { proxy } = running[Math.floor(Math.random() * count)]!;
    return fetch(proxy.url + path, { signal: AbortSignal.timeout(10_000), ...init });
  };

  async function send(path: string, init?: RequestInit): Promise<Answer> {
    for (const deadline = performance.now() + patience; performance.now() < deadline; await sleep(20)) {
      try {
        const answer = await fetchAny(path, init);
        const { status } = answer, text = await answer.text();
        if (status !== 500 && status !== 503) return { status, text };
      } catch {
        unanswered++;
      }
    }
    throw new Error(`${path} got no answer`);
  }

  return {
    fetch: fetchAny,
    send,
    manage: (method, path, body, headers) =>
      send(`/admin/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${adminToken}`, "Content-Type": "application/json", ...headers },
        ...body !== undefined && { body: JSON.stringify(body) },
      }),
    setDate: clock.set,
    async kill(nth) {
      const killed = running[nth % count]!;
      await killed.service.stop("SIGKILL");
      killed.service = await start(killed.port);
    },
    async loseReplies(nth, ms) {
      const { proxy } = running[nth % count]!;
      proxy.mode = "deaf";
      await sleep(ms);
      proxy.mode = "sound";
    },
    lost: () => running.reduce((sum, { proxy }) => sum + proxy.lost, 0),
    unanswered: () => unanswered,
    async stop() {
      for (const { service, proxy } of running) {
        await service.stop();
        proxy.close();
      }
    },
  };
}

export const bearer = ({ key }: Tenant): Record<string, string> => ({ Authorization: `Bearer ${key}` });
