// A request that is in flight for as long as a test wants it to be.
import { newApiKey } from "../../src/ids.ts";
import { goodBody } from "../helpers.ts";
import { openConnection, send, serialize } from "./http-client.ts";
import { until } from "./processes.ts";

const stranger = { key: newApiKey(), deployId: "dep_0" };

/** Sends half of a submit, and resolves when the service is waiting for the rest, which `end` sends. */
export async function holdRequest(base: string, { key, deployId } = stranger) {
  const connection = openConnection(base);
  const request = { method: "POST", headers: [`Authorization: Bearer ${key}`], body: JSON.stringify(goodBody) };
  const bytes = serialize(base, `/v1/diagnosis?deployId=${deployId}`, request, "keep-alive");
  const half = bytes.length - Math.floor(request.body.length / 2);
  connection.write(bytes.subarray(0, half));
  // The request that asks is in flight too.
  const both = "promptledger_http_requests_in_flight 2\n";
  await until(async () => (await send(base, "/metrics")).text.includes(both));
  return {
    end() {
      connection.write(bytes.subarray(half));
      return connection.readAnswer();
    },
    close: connection.close,
  };
}

/** Waits until a service that was told to stop says that it is not ready. */
export const untilDraining = (base: string) => until(async () => (await send(base, "/readyz")).status === 503);
