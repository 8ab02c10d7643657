// Answers requests of node:http with a fetch handler, in the service's own server or in a host's.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { invalid } from "../common/errors.ts";
import type { Service } from "../service/service.ts";
import { unknownHost, withUrl } from "./request-url.ts";

type Incoming = (IncomingMessage | Http2ServerRequest) & {
  /** The whole URL, if a host has removed its mount path from `url`, as Express and Connect do. */
  originalUrl?: string;
  /** The bytes of the body, if a host has kept them: Firebase does, and so can `verify` of `express.json()`. */
  rawBody?: unknown;
  /** The result of a body parser: the bytes of the body, if that is `express.raw()`. */
  body?: unknown;
};
type Outgoing = ServerResponse | Http2ServerResponse;

/** Answers a request of node:http. Never rejects. */
export type NodeHandler = (request: Incoming, response: Outgoing) => Promise<void>;

/**
 * Creates a request handler of a service for `node:http`, Express, Connect, Fastify (`request.raw`, `reply.raw`), Koa
 * (`ctx.req`, `ctx.res`), and API routes in Next's `pages`. It sees the whole URL, so `basePath` is the path that
 * clients use, whether or not the host removes its mount path from the URL.
 *
 * Mount it before body parsers, or let the parser keep the raw body as `request.rawBody`. If a parser has taken the
 * body, the response is a 500, and the log explains the fix.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", basePath: "/llm" });
 * app.use("/llm", toNodeHandler(service)); // Express
 */
export function toNodeHandler(service: Pick<Service, "fetch">): NodeHandler {
  const fault = serviceFault(service);
  if (fault !== undefined) throw invalid(`toNodeHandler needs a service${fault}`);
  const { fetch } = service;
  // A guest must not replace the Request and Response of its host.
  const { listener } = createListener(fetch, { overrideGlobalObjects: false });
  return (request, response) => {
    const { url, originalUrl = url } = request;
    request.rawBody = rawBodyOf(request);
    try {
      request.url = originalUrl!;
      return listener(request, response);
    } finally {
      request.url = url!;
    }
  };
}

/** Describes an argument that is not a service. The text continues a sentence. */
function serviceFault(given: Partial<Service> & { then?: unknown } | undefined | null): string | undefined {
  if (typeof given === "function") return ", not its fetch: toNodeHandler(service)";
  if (typeof given?.then === "function") return ", not a promise of one: toNodeHandler(await openService(…))";
  return typeof given?.fetch === "function" ? undefined : ": toNodeHandler(service)";
}

/** The bytes of a body that a host has kept. */
function rawBodyOf({ rawBody, body }: Incoming): Buffer | undefined {
  const kept = rawBody ?? body;
  if (kept instanceof Uint8Array) return Buffer.from(kept.buffer, kept.byteOffset, kept.length);
  return typeof rawBody === "string" ? Buffer.from(rawBody) : undefined;
}

/** Creates a listener for requests of node:http. `refuseRest` handles the error of a client that does not send HTTP. */
export function createListener(
  handle: (request: Request) => Promise<Response>,
  options: { overrideGlobalObjects?: boolean } = {},
) {
  // A Host or target that is invalid for a Request gets the same response as on runtimes that pass it on.
  const errorHandler = () => handle(withUrl(new Request(`http://${unknownHost}`), ""));
  const answer = getRequestListener((request, { incoming }) => handle(withBody(request, incoming)), {
    errorHandler,
    hostname: unknownHost,
    ...options,
  });
  const exchanges = trackExchanges();
  return {
    listener(request: Incoming, response: Outgoing): Promise<void> {
      // No Request can have this method. UNKNOWN, which no route has, is refused in the same way.
      if (request.method === "TRACE") Object.assign(request, { method: "UNKNOWN" });
      // The target of OPTIONS for the whole server is not a path.
      if (request.url === "*") request.url = "/*";
      // Streams of HTTP/2 end on their own.
      if (request.httpVersionMajor !== 1) return answer(request, response);
      return exchanges.run({ request, response } as Exchange, () => answer(request, response));
    },
    refuseRest: exchanges.refuseRest,
  };
}

/** Gives the request its body as received, or an error with the reason why it cannot be read. */
function withBody(request: Request, incoming: Incoming): Request {
  // The properties of the request are made on access, which takes a fifth of the time of everything else.
  const { headers: { "content-length": length = "0", "transfer-encoding": isChunked }, readableDidRead } = incoming;
  if (!isChunked && !readableDidRead || incoming.rawBody !== undefined) return request;
  const { url, method, headers, signal } = request;
  if (method === "GET" || method === "HEAD" || !isChunked && length === "0") return request;
  const init = { method, headers, signal, body: readableDidRead ? takenBody() : joinChunks(incoming) };
  return new Request(url, { ...init, duplex: "half" } as RequestInit);
}

const takenBody = () =>
  new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(Object.assign(new TypeError(taken), { name: "BodyTakenError" }));
    },
  });

const taken =
  "A body parser read the body before the service. Mount the service before body parsers, or have each parser " +
  "keep the raw body: express.json({ verify: keep }) and express.urlencoded({ verify: keep }), where keep is " +
  "(request, _response, body) => { request.rawBody = body }";

/** A body that returns all received data as one chunk. Node's own takes time quadratic in the number of chunks. */
function joinChunks(incoming: Incoming): ReadableStream<Uint8Array> {
  const pieces = incoming.iterator({ destroyOnReturn: false });
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

type Exchange = { request: IncomingMessage; response: ServerResponse };

const maxPipelined = 32; // unanswered requests of a connection, beyond which it is closed

/**
 * Tracks the unanswered requests of each connection: several, if the client pipelines them. They are answered one after
 * the other. A client that reads no response would otherwise make the service hold many at once.
 */
function trackExchanges() {
  const all = new WeakMap<Socket, Exchange[]>();
  const openOn = (socket: Socket) => all.get(socket)?.filter(({ response }) => !response.writableFinished) ?? [];

  return {
    /** Answers a request after the earlier requests on its connection. */
    run(exchange: Exchange, answer: () => Promise<void>): Promise<void> {
      const { socket } = exchange.request, open = openOn(socket), before = open.at(-1);
      if (!all.has(socket)) socket.once("close", () => openOn(socket).forEach(endUnsent));
      all.set(socket, [...open, exchange]);
      if (before === undefined) return answer();
      if (open.length >= maxPipelined) socket.destroy();
      return new Promise<void>((resolve) => void before.response.once("close", resolve))
        .then(() => socket.destroyed ? undefined : answer());
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

// The responses that Node sends without a listener for the error.
const badRequest = "400 Bad Request";
const statusLines: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};
const closing = "Connection: close\r\n\r\n";
