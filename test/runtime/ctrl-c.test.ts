// Stopping a service from its terminal, with each script that starts it on the runtime that runs the tests.
// Runs on every runtime in CI.
// Runs in CI alone.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { atOnce } from "../at-once.ts";
import { holdRequest, untilDraining } from "../conformance/held.ts";
import { send } from "../conformance/http-client.ts";
import { createFolder, findTerminal, startInTerminal, until } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const stops = suite(`Ctrl-C on ${currentRuntime}`);
const test = atOnce(stops, 3);

const folder = await createFolder();
stops.after(() => folder.remove());

const scripts = {
  Node: ["npm start", "npm run demo", "npm run -s cli -- serve"],
  Bun: ["npm run start:bun"],
  Deno: ["npm run start:deno"],
}[currentRuntime];

const ctrlC = "\x03";

const patient = { SHUTDOWN_TIMEOUT: "3600" }; // s: as much time to stop as the test takes

let databases = 0;

/** Starts a service in a new terminal. */
function start(command: string) {
  const DATABASE_URL = `file:${folder.path}/${databases++}.db`;
  const settings = { PORT: "0", TMPDIR: folder.path, DATABASE_URL, ADMIN_TOKEN: adminToken, ...patient };
  return startInTerminal(`exec ${command}`, settings, /Listening.*?(http:\/\/[\d.]+:\d+)/);
}

const terminal = await findTerminal();
if (terminal !== "found") console.log(`skipped: Ctrl-C in a terminal: ${terminal.missing}`);

const started = isFull ? scripts : scripts.slice(0, 1);
for (const command of terminal === "found" ? started : []) {
  test(`one Ctrl-C under ${command} answers the request in flight, and ends it with exit code 0`, async () => {
    const service = await start(command);
    const held = await holdRequest(service.seen);
    service.type(ctrlC);
    await untilDraining(service.seen);
    assert.is((await held.end()).status, 400);
    assert.is(await service.ended, 0);
    // Output of npm may follow.
    const messages = service.output().match(/(?<=Z (info |warn |error) )[^\r\n]*/g)!;
    assert.ok(messages.includes("Stopping; a second SIGTERM or Ctrl-C exits at once"));
    assert.is(messages.at(-1), "Stopped");
    held.close();
  });

  test(`a second Ctrl-C under ${command} more than a second later ends it at once`, async () => {
    const service = await start(command);
    const held = await holdRequest(service.seen);
    service.type(ctrlC);
    await untilDraining(service.seen);
    // At least: on a slow machine it is later, which is the same.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    service.type(ctrlC);
    assert.is(await service.ended, 1);
    held.close();
  });

  test(`closing the terminal of ${command} answers the request in flight before it ends`, async () => {
    const service = await start(command);
    const held = await holdRequest(service.seen);
    const closed = service.stop("SIGKILL");
    await untilDraining(service.seen);
    assert.is((await held.end()).status, 400);
    await closed;
    await until(() => send(service.seen, "/healthz").then(() => false, () => true));
    held.close();
  });
}

stops.run();
