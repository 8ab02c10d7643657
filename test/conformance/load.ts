// Load on running services: many connections kept alive, each with one request under way at a time.
import { openConnection, serialize } from "./http-client.ts";
import type { HttpRequest } from "./http-client.ts";

/** Sends so many requests in all, over connections spread evenly over the services; gives the count of each status. */
export async function sendLoad(
  { bases, connections, requests, target, request }: {
    bases: string[];
    connections: number;
    requests: number;
    target: string;
    request(index: number): HttpRequest;
  },
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let sent = 0;
  await Promise.all(Array.from({ length: connections }, async (_, index) => {
    const base = bases[index % bases.length]!;
    const connection = openConnection(base);
    while (sent < requests) {
      connection.write(serialize(base, target, request(sent++), "keep-alive"));
      const { status } = await connection.readAnswer();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    connection.close();
  }));
  return statuses;
}
