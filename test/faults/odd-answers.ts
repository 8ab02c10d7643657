// Something between a client and the service answers in its place, again and again, while the client has thousands of records
// queued: with the answers of odd.json, and in half of the cases after the service has taken the request. The client is a process of
// its own, on the same runtime as the service.
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { oddResponse } from "../client/stage.ts";
import type { Odd } from "../client/stage.ts";
import { startFile, startService } from "../conformance/processes.ts";
import { pathOf } from "../runtimes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import { becomesTrue, inFolder, seconds, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";

const step = 2_000; // records that are stored between one time and the next
const oddTime = 1_500; // ms

type OddProxy = {
  url: string;
  /** Whether it answers in the place of the service. */
  isOdd: boolean;
  /** How often it has, by status. */
  answers: Map<number, number>;
  close(): void;
};

/** Starts an HTTP proxy in front of a service, which can answer in its place. */
async function startOddProxy(target: string): Promise<OddProxy> {
  const odd = JSON.parse(await readFile(pathOf("test/client/odd.json"), "utf8")) as Odd;
  // The client would wait for 30 s.
  delete odd.headers["a day to wait"];
  const { hostname, port } = new URL(target);

  /** Sends a request on, and gives the response once its headers have come. */
  const forward = ({ method, url, headers }: IncomingMessage, body: Uint8Array) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      request({ hostname, port, method, path: url, headers }, resolve).once("error", reject).end(body);
    });

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
    const isOdd = proxy.isOdd;
    if (!isOdd || Math.random() < 0.5) {
      const response = await forward(incoming, Buffer.concat(chunks));
      if (!isOdd) {
        outgoing.writeHead(response.statusCode!, response.headers);
        response.pipe(outgoing);
        return;
      }
      response.resume();
    }
    const { status, headers, body } = oddResponse(odd, Math.random);
    proxy.answers.set(status, (proxy.answers.get(status) ?? 0) + 1);
    outgoing.writeHead(status, Object.fromEntries(headers));
    outgoing.end(body === null ? undefined : await new Response(body).text());
  }

  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing).catch(() => outgoing.destroy()));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const proxy: OddProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isOdd: false,
    answers: new Map(),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return proxy;
}

export const oddAnswers: Fault = {
  rounds: 20,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
      const service = await startService(runtime, { DATABASE_URL: seeded.url });
      const proxy = await startOddProxy(service.url);
      proxy.isOdd = true;
      const countAnswers = () => [...proxy.answers.values()].reduce((sum, count) => sum + count, 0);
      const records = step * rounds;
      const env = { PROMPTLEDGER_URL: proxy.url, PROMPTLEDGER_API_KEY: seeded.tenant.key };
      const args = [String(records), String(step)];
      const began = performance.now();
      const app = await startFile(runtime, "test/faults/recording-app.ts", env, /(queued)/, args);
      for (let round = 1; round <= rounds; round++) {
        proxy.isOdd = true;
        await sleep(oddTime);
        await becomesTrue(() => countAnswers() >= round);
        proxy.isOdd = false;
        await app.until(new RegExp(`(stored ${step * round});`));
        say(`${round} of ${rounds}: ${step * round} records`);
      }
      const totals = JSON.parse(await app.until(/(\{.*\})/)) as Record<string, number>;
      const time = performance.now() - began;
      const code = await app.ended;
      proxy.close();
      await service.stop();

      const found = await audit(seeded, { ...emptyOutcomes(), statuses: new Map([[201, records]]) });
      const { sent, dropped, failed, failures } = totals;
      if (code !== 0) found.faults.push(`exit code ${code}`);
      if (sent !== records || dropped !== 0 || failed !== 0) {
        found.faults.push(`the client says ${JSON.stringify(totals)}`);
      }
      const answers = countAnswers();
      if (answers < rounds) found.faults.push(`only ${answers} answers were not the service's`);
      const figures =
        `${records} records in ${seconds(time)}; ${answers} answers of ${proxy.answers.size} statuses were ` +
        `not the service's; the client emitted ${failures} errors`;
      return { ...found, rounds, requests: records, figures };
    }),
};
