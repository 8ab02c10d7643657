// Keeps a request in flight for as long as a test needs, on a service with the tests' admin token.
import { adminToken, goodBody } from "../helpers.ts";
import { openConnection, send, serialize } from "./http-client.ts";
import { until } from "./processes.ts";

/** Reads a metric without labels. */
export async function readMetric(base: string, name: string): Promise<number> {
  const { text } = await send(base, "/metrics", { headers: [`Authorization: Bearer ${adminToken}`] });
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)![1]);
}

/** Sends half of a submit, and resolves once the service waits for the rest, which `end` sends. */
export const holdSubmit = (base: string, { key, deployId }: { key: string; deployId: string }, sessionId = "held") =>
  hold(base, `/v1/diagnosis?deployId=${deployId}`, key, { ...goodBody, sessionId });

/** The same with a management request that gets a 400 in the end. */
export const holdRequest = (base: string) => hold(base, "/admin/v1/workspaces", adminToken, { nothing: true });

async function hold(base: string, target: string, token: string, content: object) {
  const connection = openConnection(base);
  const body = JSON.stringify(content);
  const request = { method: "POST", headers: [`Authorization: Bearer ${token}`], body };
  const bytes = serialize(base, target, request, "keep-alive");
  const half = bytes.length - Math.floor(body.length / 2);
  const inFlight = () => readMetric(base, "promptledger_http_requests_in_flight");
  const before = await inFlight();
  connection.write(bytes.subarray(0, half));
  await until(async () => await inFlight() > before);
  return {
    end() {
      connection.write(bytes.subarray(half));
      return connection.readAnswer();
    },
    close: connection.close,
  };
}

/** Waits until a stopping service is not ready any more. */
export const untilDraining = (base: string) => until(async () => (await send(base, "/readyz")).status === 503);
