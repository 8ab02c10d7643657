// What the runtimes have in common: a way to listen, and a server that can be stopped.
import type { OwnService } from "../http/service.ts";

/**
 * A listening server. `stop` takes no new connections and resolves when every request in flight is answered. `refuseNew` is
 * for a runtime on which requests must be answered before it stops listening.
 */
export type Server = { port: number; stop(refuseNew: () => Promise<void>): Promise<void> };

/** How a runtime listens: the one thing in which they differ. `warn` is told of connections that cannot be taken. */
export type Listen = (
  handle: OwnService["handle"],
  address: { host: string; port: number },
  warn: (message: string, error?: unknown) => void,
) => Promise<Server>;
