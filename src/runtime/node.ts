// Listens on Node.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Listen } from "./server.ts";

export const listen: Listen = (handle, { host, port }, warn) => {
  // What no Request can be made of, for its Host or target, is answered as on runtimes that hand it over.
  const errorHandler = () => handle(Object.defineProperty(new Request("http://unknown"), "url", { value: "" }));
  const answer = getRequestListener((request) => handle(request), { errorHandler });
  const responses = trackResponses();
  const server = createServer(limits, (request, response) => {
    responses.add(request, response);
    // Fetch knows no such request: under this name, which no route has, it is refused too.
    if (request.method === "TRACE") request.method = "UNKNOWN";
    return answer(request, response);
  });
  server.maxConnections = mostConnections;
  server.on("drop", () => warn(`More than ${mostConnections} connections: the others are closed`));
  server.on("clientError", (_error, socket) => responses.refuseRest(socket));
  const stop = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port, stop }));
  });
};

// A proxy keeps its connections open for a minute as a rule, and must not find one closed that it is about to use.
const limits = {
  headersTimeout: 10_000, // ms for the head of a request
  requestTimeout: 60_000, // ms for all of it; the service itself gives up on a body sooner
  keepAliveTimeout: 75_000, // ms
  connectionsCheckingInterval: 1_000, // ms
};

const mostConnections = 10_000;

/** The responses of each connection that have not gone out: several, where requests come before the last one is answered. */
function trackResponses() {
  const unsent = new WeakMap<Duplex, ServerResponse[]>();
  const unsentOn = (socket: Duplex) => unsent.get(socket)?.filter(({ writableFinished }) => !writableFinished) ?? [];

  return {
    add({ socket }: IncomingMessage, response: ServerResponse): void {
      if (!unsent.has(socket)) socket.once("close", () => unsentOn(socket).forEach(endUnsent));
      unsent.set(socket, [...unsentOn(socket), response]);
    },
    /** After bytes that are no request nothing more is read; what came before them is answered first. */
    refuseRest(socket: Duplex): void {
      const last = unsentOn(socket).at(-1);
      const refuse = () => void (socket.writable ? socket.end(badRequest) : socket.destroy());
      if (last === undefined) refuse();
      else last.once("close", refuse);
    },
  };
}

/** When a connection closes, Node tells only the first of its responses, so that the others would be in flight for ever. */
function endUnsent(response: ServerResponse): void {
  if (response.closed) return;
  response.destroy();
  response.emit("close");
}

const badRequest = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
