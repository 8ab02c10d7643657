// Sends requests of one workspace to running services over many keep-alive connections, one request at a time on each.
import { goodBody } from "../helpers.ts";
import { openConnection, serialize } from "./http-client.ts";

/** Sends `requests` alternating reads and submits, with alternating keys. Returns the count of each status. */
export async function race(
  { bases, connections, requests, keys, deployId }: {
    bases: string[];
    connections: number;
    requests: number;
    keys: string[];
    deployId: string;
  },
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let sent = 0;
  await Promise.all(Array.from({ length: connections }, async (_, index) => {
    const base = bases[index % bases.length]!;
    const connection = openConnection(base);
    while (sent < requests) {
      const number = sent++;
      const headers = [`Authorization: Bearer ${keys[number % keys.length]}`];
      const body = JSON.stringify({ ...goodBody, sessionId: `session-${number}` });
      const request = number % 2 === 0 ? { headers } : { method: "POST", headers, body };
      connection.write(serialize(base, `/v1/prompts?deployId=${deployId}`, request, "keep-alive"));
      const { status } = await connection.readAnswer();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    connection.close();
  }));
  return statuses;
}
