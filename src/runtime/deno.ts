// Listens on Deno.
import { withUrl } from "./request-url.ts";
import type { Listen } from "./server.ts";

type DenoServer = { addr: { port: number }; finished: Promise<void>; shutdown(): Promise<void> };

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen(): void },
    handler: (request: Request) => Promise<Response>,
  ): DenoServer;
};

// deno-lint-ignore require-await -- Deno throws if the port is in use, which must become a rejection
export const listen: Listen = async (handle, { host: hostname, port }, warn) => {
  const open = (port: number): DenoServer => {
    const server = Deno.serve({ hostname, port, onListen() {} }, (request) => handle(withoutOddHost(request)));
    server.finished.catch((error) => {
      warn("Cannot accept connections for a moment", error);
      setTimeout(reopen, pause);
    });
    return server;
  };
  // If no file descriptor is left for a new connection, Deno stops listening for good.
  function reopen(): void {
    if (isStopping) return;
    try {
      server = open(server.addr.port);
    } catch {
      setTimeout(reopen, pause);
    }
  }
  let isStopping = false;
  let server = open(port);
  return {
    port: server.addr.port,
    async stop(refuseNew) {
      isStopping = true;
      // From Deno 2.9 on, a body that is still arriving cannot be read after `shutdown` (denoland/deno#36809).
      await refuseNew();
      await server.shutdown();
    },
  };
};

const pause = 250; // ms between two attempts

/** Deno builds the URL from any Host: one with a slash or a question mark would change the path. */
const withoutOddHost = (request: Request): Request =>
  /[/?#\\@]/.test(request.headers.get("Host") ?? "") ? withUrl(request, "") : request;
