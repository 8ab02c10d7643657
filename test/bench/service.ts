// The service as src/runtime/serving/boot.ts starts it, with two additions. It counts its round trips to the database, and prints them
// as a line of JSON on SIGUSR2. GROUP_OF in the environment is the number of requests that may share a transaction, and
// FEEDBACK adds the face of feedback, without a bound.
import { serveContext } from "../helpers.ts";
import process from "node:process";
import { readConfig } from "../../src/runtime/settings/config.ts";
import { createLog } from "../../src/common/log.ts";
import { openConfigured } from "../../src/runtime/serving/open-configured.ts";
import { openLogOutput } from "../../src/runtime/log-output.ts";
import type { Listen } from "../../src/runtime/server.ts";
import { consolePages } from "../../src/console.ts";
import { feedback } from "../../src/feedback/face/feedback.ts";
import { management } from "../../src/faces/management.ts";
import { around } from "../../src/database/database.ts";
import { currentRuntime } from "../runtimes.ts";

const { listen }: { listen: Listen } = await import(`../../src/runtime/${currentRuntime.toLowerCase()}.ts`);

const config = readConfig(process.env);
const clock = Date.now;

const { database } = await openConfigured(config.database, "serve", {});
let roundTrips = 0;
const counted = around(database, (operation) => {
  roundTrips++;
  return operation();
});

const { GROUP_OF, FEEDBACK } = process.env;
const output = openLogOutput((count) => log.warn("Dropped log lines", { count }));
const log = createLog({ level: config.logLevel, format: config.logFormat, clock, write: output.write });
const limits = GROUP_OF === undefined ? {} : { items: Number(GROUP_OF) };
const { adminToken } = config;
const faces = [
  ...adminToken === undefined ? [] : [management({ adminToken }), consolePages()],
  ...FEEDBACK === undefined ? [] : [feedback({ ratePerMinute: 1_000_000_000 })],
];
const { context, fetch } = serveContext(counted, { clock, log, faces }, limits);
const server = await listen(fetch, config, () => {});

process.on("SIGUSR2", () => console.log(JSON.stringify({ roundTrips })));
process.on("SIGTERM", async () => {
  setTimeout(() => process.exit(1), 10_000);
  await server.stop(context.inFlight.close);
  await database.close();
  await output.close();
  process.exit(0);
});

console.log(`Listening url=http://127.0.0.1:${server.port}`);
