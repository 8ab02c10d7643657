// Load that survives faults: connections with alternating reads and submits, which are opened again when they break.
import { openConnection, serialize } from "../conformance/http-client.ts";
import type { Connection } from "../conformance/http-client.ts";
import { goodBody } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";

export type Outcomes = {
  requests: number;
  /** Counts of answers by status. 0 stands for no answer. */
  statuses: Map<number, number>;
  /** The ids in 201 answers. */
  recorded: string[];
  /** How long the slowest answer took, in ms. */
  slowest: number;
  /** How long each answer took, in ms. */
  times: number[];
};

export type LoadOptions = {
  bases: string[];
  connections: number;
  tenant: Tenant;
  /** How long a connection waits before the next request, in ms. */
  thinkMs?: number;
  content?: (number: number) => { input: string };
  outcomes?: Outcomes;
};

export type Load = {
  outcomes: Outcomes;
  /** Resolves once a request that is sent from now on succeeds, or after a minute. Returns how many ms that took. */
  untilSuccess(): Promise<number>;
  /** The requests that are fully sent and not answered yet. Once the load is stopped, counts those that never were. */
  inFlight(): { count: number; countUnanswered(): number };
  /** Sends no more requests, and resolves once all have ended. */
  stop(): Promise<void>;
};

export const emptyOutcomes = (): Outcomes => ({
  requests: 0,
  statuses: new Map(),
  recorded: [],
  slowest: 0,
  times: [],
});

/** How long a connection, or someone who looks, waits before the next request, and after one that failed, in ms. */
export const pace = { thinkMs: 0, pauseMs: 20 };

const timeoutMs = 60_000; // for the next success

/** Sends reads and submits to services until it is stopped, and adds their outcomes. */
export function startLoad({
  bases,
  connections,
  tenant,
  thinkMs = pace.thinkMs,
  content = () => goodBody.content,
  outcomes = emptyOutcomes(),
}: LoadOptions): Load {
  let isStopped = false;
  let succeeded = (_sentAt: number) => {};
  const target = `/v1/prompts?deployId=${tenant.deployId}`;
  const headers = [`Authorization: Bearer ${tenant.key}`];
  const underWay = new Set<number>();
  const unanswered = new Set<number>();

  /** Sends one request after the other, until the connection ends. */
  async function use(connection: Connection, base: string): Promise<void> {
    for (let isOpen = true; isOpen && !isStopped;) {
      const number = outcomes.requests++;
      const body = JSON.stringify({ ...goodBody, content: content(number), sessionId: `session-${number}` });
      const request = { headers, ...(number % 2 === 0 ? {} : { method: "POST", body }) };
      const sentAt = performance.now();
      try {
        connection.write(serialize(base, target, request, "keep-alive"));
        underWay.add(number);
        const { status, headers: answered, text } = await connection.readAnswer();
        if (status === 201) outcomes.recorded.push(JSON.parse(text).id);
        count(outcomes, status);
        outcomes.times.push(performance.now() - sentAt);
        if (status < 300) succeeded(sentAt);
        isOpen = answered.get("connection") !== "close";
        if (thinkMs > 0) await new Promise((resolve) => setTimeout(resolve, thinkMs));
      } catch {
        count(outcomes, 0);
        unanswered.add(number);
        isOpen = false;
      }
      underWay.delete(number);
      outcomes.slowest = Math.max(outcomes.slowest, performance.now() - sentAt);
    }
  }

  const work = Array.from({ length: connections }, async (_, index) => {
    const base = bases[index % bases.length]!;
    while (!isStopped) {
      const connection = openConnection(base);
      if (await connection.opened) await use(connection, base);
      connection.close();
      if (!isStopped) await new Promise((resolve) => setTimeout(resolve, pace.pauseMs));
    }
  });

  return {
    outcomes,
    untilSuccess() {
      const from = performance.now();
      return new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer);
          resolve(performance.now() - from);
        };
        const timer = setTimeout(end, timeoutMs);
        succeeded = (sentAt) => {
          if (sentAt >= from) end();
        };
      });
    },
    inFlight() {
      const sent = [...underWay];
      return { count: sent.length, countUnanswered: () => sent.filter((number) => unanswered.has(number)).length };
    },
    async stop() {
      isStopped = true;
      await Promise.all(work);
    },
  };
}

const count = ({ statuses }: Outcomes, status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
