// From a signal to the end of the process: the same on Node, Bun and Deno.
import process from "node:process";
import { describeError } from "../log.ts";
import type { Log } from "../log.ts";
import type { OwnService } from "../service.ts";
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
 * On SIGTERM or SIGINT answers what is in flight, closes the database and exits 0, in the time that stopping may take; a
 * second signal ends at once. An error that no one has caught is logged, and ends the process too.
 */
export function stopOnSignal({ servers, service, output, log, shutdownDelay, shutdownTimeout }: Stoppable): void {
  let isStopping = false;

  async function exit(code: number): Promise<never> {
    await output.close();
    process.exit(code);
  }

  async function stop(): Promise<void> {
    log.info("Stopping");
    const isDone = await Promise.race([
      finish(servers, service, shutdownDelay).then(() => true),
      pause(shutdownTimeout * (1 - closingShare)).then(() => false),
    ]);
    if (!isDone) log.warn("Stopped before every request was answered");
    await service.close({ timeout: 0 });
    await exit(0);
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      stop().catch(crash);
    });
  }

  function crash(error: unknown): void {
    log.error("Crashed", { cause: describeError(error), stack: error instanceof Error ? error.stack : undefined });
    void exit(1);
  }
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
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
  for (const server of servers) await Promise.race([server.stop(), untilQuiet(service)]);
}

async function untilQuiet({ countInFlight }: OwnService): Promise<void> {
  do await pause(quietTime); while (countInFlight() > 0);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const readingTime = 100; // ms in which what was sent is read
const quietTime = 250; // ms in which what was answered goes out
const closingShare = 0.2; // of the time that stopping may take, for closing the database
