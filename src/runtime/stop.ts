// From a signal to the end of the process: the same on Node, Bun and Deno.
import { readFileSync } from "node:fs";
import process from "node:process";
import { describeError } from "../common/log.ts";
import type { Log } from "../common/log.ts";
import type { OwnService } from "../http/service.ts";
import type { LogOutput } from "./log-output.ts";
import type { Server } from "./server.ts";

/** What is stopped, and what it takes to do so. */
export type Stoppable = {
  servers: Server[];
  service: OwnService;
  output: LogOutput;
  log: Log;
  shutdownDelay: number;
  shutdownTimeout: number;
};

/**
 * On SIGTERM, SIGINT or SIGHUP answers what is in flight, closes the database and exits 0, in the time that stopping may
 * take. SIGTERM or SIGINT more than a second after the first signal exits 1 at once. SIGQUIT keeps its default: it ends
 * even a process that is too busy to look at signals. An uncaught error is logged, and ends the process too.
 */
export function stopOnSignal({ servers, service, output, log, shutdownDelay, shutdownTimeout }: Stoppable): void {
  let stoppingSince: number | undefined;

  async function exit(code: number): Promise<never> {
    await output.close();
    process.exit(code);
  }

  async function stop(): Promise<void> {
    log.info("Stopping; another SIGTERM or Ctrl-C ends it at once");
    const isDone = await Promise.race([
      finish(servers, service, shutdownDelay).then(() => true),
      pause(shutdownTimeout * (1 - closingShare)).then(() => false),
    ]);
    if (!isDone) log.warn("Timed out waiting for requests in flight", { requests: service.countInFlight() });
    await service.close({ timeout: 0 });
    log.info("Stopped");
    await exit(0);
  }

  const onSignal = (signal: string) => () => {
    const now = performance.now();
    if (stoppingSince === undefined) {
      stoppingSince = now;
      stop().catch(crash);
    } else if (signal !== "SIGHUP" && now - stoppingSince >= repeatTime) {
      process.exit(1);
    }
  };
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, onSignal(signal));
  if (!ignoresHangup()) process.on("SIGHUP", onSignal("SIGHUP"));

  function crash(error: unknown): void {
    log.error("Crashed", { cause: describeError(error), stack: error instanceof Error ? error.stack : undefined });
    void exit(1);
  }
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
}

/** Whether the process was started with SIGHUP ignored, as nohup does. Node and Deno undo that before any script runs. */
function ignoresHangup(): boolean {
  if (!("Bun" in globalThis)) return false;
  try {
    const [, ignored] = /^SigIgn:\s*(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return (Number(`0x${ignored}`) & 1) === 1;
  } catch {
    return false; // only Linux says
  }
}

/**
 * Answers what is in flight. The service listens for as long as those wait who came before, and says that it is not ready;
 * then for those who came meanwhile, but not for connections on which nothing is asked.
 */
async function finish(servers: Server[], service: OwnService, shutdownDelay: number): Promise<void> {
  const areAnswered = service.drain();
  // What was sent before the signal may not be read yet, and its connection would be closed as one that is idle; a load
  // balancer may not have asked yet whether the service is ready.
  await pause(Math.max(readingTime, shutdownDelay));
  await areAnswered;
  for (const server of servers) await Promise.race([server.stop(service.refuseNew), untilQuiet(service)]);
}

async function untilQuiet({ countInFlight }: OwnService): Promise<void> {
  do await pause(quietTime); while (countInFlight() > 0);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const repeatTime = 1_000; // ms; of one Ctrl-C npm's child gets two signals, the terminal's and the one that npm forwards
const readingTime = 100; // ms in which what was sent is read
const quietTime = 250; // ms in which what was answered goes out
const closingShare = 0.2; // of the time that stopping may take, for closing the database
