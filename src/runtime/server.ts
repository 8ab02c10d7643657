// Types shared by the runtimes: a function that listens, and a server that can be stopped.
import type { OwnService } from "../service/service.ts";

/**
 * A listening server. `stop` accepts no new connections and resolves when every request in flight has been answered. A
 * runtime that must answer all requests before it stops listening calls `refuseNew`.
 */
export type Server = { port: number; stop(refuseNew: () => Promise<void>): Promise<void> };

/**
 * Listens on a runtime, the only function that differs between them. `warn` reports connections that cannot be
 * accepted.
 */
export type Listen = (
  handle: OwnService["handle"],
  address: { host: string; port: number },
  warn: (message: string, error?: unknown) => void,
) => Promise<Server>;
