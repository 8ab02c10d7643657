// A request that is in flight for as long as a test wants it to be.
import { newApiKey } from "../../src/ids.ts";
import { openConnection, send, serialize } from "./http-client.ts";

/** Sends half of a submit, and resolves when the service is waiting for the rest, which `end` sends. */
export async function holdRequest(base: string) {
  const connection = openConnection(base);
  const request = { method: "POST", headers: [`Authorization: Bearer ${newApiKey()}`], body: "x".repeat(100) };
  const bytes = serialize(base, "/v1/diagnosis?deployId=x", request, "keep-alive");
  connection.write(bytes.subarray(0, -50));
  // The request that asks is in flight too.
  const both = "promptledger_http_requests_in_flight 2\n";
  while (!(await send(base, "/metrics")).text.includes(both)) await pause();
  return {
    end() {
      connection.write(bytes.subarray(-50));
      return connection.readAnswer();
    },
    close: connection.close,
  };
}

/** Waits until a service that was told to stop says that it is not ready. */
export async function untilDraining(base: string): Promise<void> {
  while ((await send(base, "/readyz")).status !== 503) await pause();
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 10));
