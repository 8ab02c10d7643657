// From a signal to the end of the process: the same on Node, Bun and Deno.
import { readFileSync } from "node:fs";
import process from "node:process";
import { describeError } from "../../common/log.ts";
import type { Log } from "../../common/log.ts";
import type { OwnService } from "../../service/service.ts";
import type { LogOutput } from "../log-output.ts";
import type { Server } from "../server.ts";

/** Parts of the process to stop, and their dependencies. */
type Stoppable = {
  servers: Server[];
  service: OwnService;
  upkeep: { stop(): void };
  deliverer: { stop(): Promise<void> };
  backups: { stop(): void } | undefined;
  output: LogOutput;
  log: Log;
  shutdownDelay: number;
  shutdownTimeout: number;
};

/**
 * On SIGTERM, SIGINT or SIGHUP, answers the requests in flight, closes the database and exits 0, within
 * `shutdownTimeout`. SIGTERM or SIGINT more than a second after the first signal exits 1 at once. SIGQUIT keeps its
 * default, which ends even a process that is too busy to handle signals. An uncaught error is logged, and ends the
 * process too.
 */
export function stopOnSignal(
  { servers, service, upkeep, deliverer, backups, output, log, shutdownDelay, shutdownTimeout }: Stoppable,
): void {
  let stoppingSince: number | undefined;

  async function exit(code: number): Promise<never> {
    await output.close();
    process.exit(code);
  }

  async function stop(): Promise<void> {
    upkeep.stop();
    backups?.stop();
    log.info("Stopping; a second SIGTERM or Ctrl-C exits at once");
    const isDone = await Promise.race([
      Promise.all([finish(servers, service, shutdownDelay), deliverer.stop()]).then(() => true),
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
  // SIGBREAK is Ctrl-Break on Windows, where no other process can send SIGTERM. Other systems do not have it.
  for (const signal of ["SIGTERM", "SIGINT", "SIGBREAK"]) process.on(signal, onSignal(signal));
  if (!ignoresHangup()) process.on("SIGHUP", onSignal("SIGHUP"));

  function crash(error: unknown): void {
    log.error("Crashed", { cause: describeError(error), stack: error instanceof Error ? error.stack : undefined });
    void exit(1);
  }
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
}

/**
 * True if the process was started with SIGHUP ignored, as nohup does. Node and Deno undo that before any script runs.
 */
function ignoresHangup(): boolean {
  if (!("Bun" in globalThis)) return false;
  try {
    const [, ignored] = /^SigIgn:\s*(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return (Number(`0x${ignored}`) & 1) === 1;
  } catch {
    return false; // not Linux
  }
}

/**
 * Answers the requests in flight. The service listens, and is not ready, until all requests before the signal have been
 * answered. Then it waits for the requests that arrived meanwhile, but not for idle connections.
 */
async function finish(servers: Server[], service: OwnService, shutdownDelay: number): Promise<void> {
  const areAnswered = service.drain();
  // Requests that were sent before the signal may be unread, and their connections would be closed as idle. A load
  // balancer may not have noticed `/readyz` yet.
  await pause(Math.max(readingTime, shutdownDelay));
  await areAnswered;
  for (const server of servers) await Promise.race([server.stop(service.refuseNew), untilQuiet(service)]);
}

async function untilQuiet({ countInFlight }: OwnService): Promise<void> {
  do await pause(quietTime); while (countInFlight() > 0);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const repeatTime = 1_000; // ms: on one Ctrl-C npm's child gets two signals, the terminal's and the one that npm forwards
const readingTime = 100; // ms for reading requests that were sent before
const quietTime = 250; // ms for sending the last responses
const closingShare = 0.2; // of `shutdownTimeout`, for closing the database
