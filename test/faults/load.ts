// Load that outlives faults: connections that reads and submits take turns on, opened again whenever one breaks.
import { openConnection, serialize } from "../conformance/http-client.ts";
import { goodBody } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";

export type Outcomes = {
  requests: number;
  /** Answers by status; 0 stands for no answer at all. */
  statuses: Map<number, number>;
  /** The ids that were answered with 201. */
  recorded: string[];
  /** The longest that an answer took, in ms. */
  slowest: number;
};

export type Load = {
  outcomes: Outcomes;
  /** Resolves with how many ms it takes from now until a request succeeds that is sent from now on. */
  untilSuccess(): Promise<number>;
  /** Sends nothing more, and resolves when what was sent has been answered. */
  stop(): Promise<void>;
};

export const emptyOutcomes = (): Outcomes => ({ requests: 0, statuses: new Map(), recorded: [], slowest: 0 });

const pause = 20; // ms before a broken connection is opened again

/** Sends reads and submits to services until it is stopped, and adds what came of them to the outcomes. */
export function startLoad(
  { bases, connections, tenant, outcomes = emptyOutcomes() }: {
    bases: string[];
    connections: number;
    tenant: Tenant;
    outcomes?: Outcomes;
  },
): Load {
  let isStopped = false;
  let succeeded = (_sentAt: number) => {};
  const target = `/v1/prompts?deployId=${tenant.deployId}`;
  const headers = [`Authorization: Bearer ${tenant.key}`];

  const work = Array.from({ length: connections }, async (_, index) => {
    const base = bases[index % bases.length]!;
    let connection = openConnection(base);
    while (!isStopped) {
      const number = outcomes.requests++;
      const body = JSON.stringify({ ...goodBody, sessionId: `session-${number}` });
      const sentAt = performance.now();
      try {
        const request = { headers, ...(number % 2 === 0 ? {} : { method: "POST", body }) };
        connection.write(serialize(base, target, request, "keep-alive"));
        const { status, headers: answered, text } = await connection.readAnswer();
        count(outcomes, status);
        if (status === 201) outcomes.recorded.push(JSON.parse(text).id);
        if (status < 300) succeeded(sentAt);
        if (answered.get("connection") === "close") throw new Error("The server closes the connection");
      } catch (error) {
        if (!/closes the connection/.test(String(error))) count(outcomes, 0);
        connection.close();
        await new Promise((resolve) => setTimeout(resolve, pause));
        connection = openConnection(base);
      }
      outcomes.slowest = Math.max(outcomes.slowest, performance.now() - sentAt);
    }
    connection.close();
  });

  return {
    outcomes,
    untilSuccess() {
      const from = performance.now();
      return new Promise((resolve) => {
        succeeded = (sentAt) => {
          if (sentAt >= from) resolve(performance.now() - from);
        };
      });
    },
    async stop() {
      isStopped = true;
      await Promise.all(work);
    },
  };
}

const count = ({ statuses }: Outcomes, status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
