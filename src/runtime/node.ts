// Listens on Node.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Readable } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Listen } from "./server.ts";

export const listen: Listen = (handle, { host, port }, warn) => {
  // A Host or target that fits in no Request gets the same response as on runtimes that pass it on.
  const errorHandler = () => handle(Object.defineProperty(new Request("http://unknown"), "url", { value: "" }));
  const answer = getRequestListener((request, { incoming }) => handle(joinChunks(request, incoming)), { errorHandler });
  const exchanges = trackExchanges();
  const server = createServer(limits, (request, response) => {
    exchanges.add({ request, response });
    // No Request can have this method. UNKNOWN, which no route has, is refused in the same way.
    if (request.method === "TRACE") request.method = "UNKNOWN";
    return answer(request, response);
  });
  server.maxConnections = maxConnections;
  server.on("drop", () => warn(`More than ${maxConnections} connections; closing the others`));
  server.on("clientError", (error, socket) => exchanges.refuseRest(error, socket as Socket));
  const stop = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port, stop }));
  });
};

/** Makes the body return all that has arrived as one chunk. Node's own takes time quadratic in the number of chunks. */
function joinChunks(request: Request, incoming: Readable & Pick<IncomingMessage, "headers">): Request {
  // The properties of the request are made on access, which takes a fifth of the time of everything else.
  if (incoming.headers["transfer-encoding"] === undefined) return request;
  const { url, method, headers, signal } = request;
  if (method === "GET" || method === "HEAD") return request;
  const pieces = incoming.iterator({ destroyOnReturn: false });
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  const init = { method, headers, signal, body, duplex: "half" as const };
  return new Request(url, init);
}

// Most proxies keep idle connections for a minute, and must not find one closed that they are about to use.
const limits = {
  headersTimeout: 10_000, // ms for the head of a request
  requestTimeout: 60_000, // ms for all of it; the service itself times out sooner
  keepAliveTimeout: 75_000, // ms
  connectionsCheckingInterval: 1_000, // ms
  highWaterMark: 8_192, // bytes received before reading pauses: in chunks of one byte they take 20 ms
};

const maxConnections = 10_000;

type Exchange = { request: IncomingMessage; response: ServerResponse };

/** Tracks the unanswered requests of each connection: several, if the client pipelines them. */
function trackExchanges() {
  const all = new WeakMap<Socket, Exchange[]>();
  const openOn = (socket: Socket) => all.get(socket)?.filter(({ response }) => !response.writableFinished) ?? [];

  return {
    add(exchange: Exchange): void {
      const { socket } = exchange.request;
      if (!all.has(socket)) socket.once("close", () => openOn(socket).forEach(endUnsent));
      all.set(socket, [...openOn(socket), exchange]);
    },
    /** Nothing is read after bytes that are not a request. The requests before them are answered first. */
    refuseRest(error: NodeJS.ErrnoException, socket: Socket): void {
      const last = openOn(socket).filter(({ request }) => request.complete).at(-1);
      const refuse = () => {
        const isStarted = openOn(socket).some(({ response }) => response.headersSent);
        if (socket.writable && !isStarted) {
          socket.write(`HTTP/1.1 ${statusLines[error.code!] ?? badRequest}\r\n${closing}`);
        }
        socket.destroySoon();
      };
      if (last === undefined || error.code === "ECONNRESET") refuse();
      else last.response.once("close", refuse);
    },
  };
}

/** When a connection closes, Node notifies only the first of its responses. The others would stay in flight forever. */
function endUnsent({ response }: Exchange): void {
  if (response.closed) return;
  response.destroy();
  response.emit("close");
}

// The same as Node sends without a listener for the error.
const badRequest = "400 Bad Request";
const statusLines: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};
const closing = "Connection: close\r\n\r\n";
