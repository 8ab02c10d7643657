// An HTTP/1.1 client on a socket. It sends exactly the bytes it is given, which are the same on every runtime.
import { Buffer } from "node:buffer";
import { connect } from "node:net";

export type HttpAnswer = { status: number; headers: Map<string, string>; text: string };

export type HttpRequest = {
  method?: string;
  /** Header lines as sent. Host, Connection and Content-Length are added. */
  headers?: string[];
  body?: string | Uint8Array;
  /** Sends the body in chunks of this size, without its length. */
  chunkSize?: number;
};

export type Connection = {
  write(bytes: Uint8Array | string): void;
  /** Reads the next answer. An answer to HEAD has no body, whatever its headers say. */
  readAnswer(isHead?: boolean): Promise<HttpAnswer>;
  /** Whether the server accepted the connection, once that is known. */
  opened: Promise<boolean>;
  /** Resolves when the server has closed or reset the connection. */
  closed: Promise<"closed" | "reset">;
  /** Stops reading, so that only the system's buffer takes in what the server sends. */
  stopReading(): void;
  close(): void;
  /** Says that nothing more is sent, and reads on. */
  end(): void;
  /** Resets the connection, as a crashing client does. */
  reset(): void;
};

const defaultTimeoutMs = 120_000; // for an answer: it only ends what hangs

/** Sends one request on a connection of its own. */
export async function send(base: string, target: string, request: HttpRequest = {}): Promise<HttpAnswer> {
  const connection = openConnection(base);
  try {
    connection.write(serialize(base, target, request, "close"));
    return await connection.readAnswer(request.method === "HEAD");
  } finally {
    connection.close();
  }
}

/** The bytes of a request. */
export function serialize(base: string, target: string, request: HttpRequest, connection: "close" | "keep-alive") {
  const { method = "GET", headers = [], body, chunkSize } = request;
  const bytes = Buffer.from(body ?? "");
  const framing = chunkSize === undefined ? `Content-Length: ${bytes.length}` : "Transfer-Encoding: chunked";
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${new URL(base).host}`,
    `Connection: ${connection}`,
    ...(body === undefined ? [] : [framing]),
    ...headers,
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  return Buffer.concat([head, chunkSize === undefined ? bytes : inChunks(bytes, chunkSize)]);
}

function inChunks(bytes: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = bytes.subarray(at, at + size);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n"));
  }
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
}

/** Opens a connection for any number of requests. An answer may take `timeoutMs`. */
export function openConnection(base: string, timeoutMs = defaultTimeoutMs): Connection {
  const { hostname, port } = new URL(base);
  const socket = connect({ host: hostname, port: Number(port) });
  let received = Buffer.alloc(0);
  let hasEnded = false;
  let wake = () => {};

  const opened = new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true)).once("close", () => resolve(false));
  });
  socket.on("data", (data: Buffer) => {
    received = Buffer.concat([received, data]);
    wake();
  });
  let isReset = false;
  const closed = new Promise<"closed" | "reset">((resolve) => {
    for (const event of ["end", "close", "error"]) {
      socket.on(event, () => {
        hasEnded = true;
        isReset ||= event === "error";
        wake();
        resolve(isReset ? "reset" : "closed");
      });
    }
  });

  /** Waits until `find` finds something in the received bytes, or the connection has ended. */
  async function receive<T>(find: () => T | undefined): Promise<T | undefined> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const found = find();
      if (found !== undefined || hasEnded) return found;
      const wait = deadline - performance.now();
      if (wait <= 0) throw new Error("The server did not answer in time");
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  function take(length: number): Buffer {
    const taken = received.subarray(0, length);
    received = received.subarray(length);
    return taken;
  }

  async function takeLine(): Promise<string> {
    const end = await receive(() => {
      const index = received.indexOf("\r\n");
      return index < 0 ? undefined : index;
    });
    if (end === undefined) {
      throw new Error(`The server closed the connection before it had answered${isReset ? ", by a reset" : ""}`);
    }
    return take(end + 2).toString("latin1").slice(0, -2);
  }

  async function takeBytes(length: number): Promise<Buffer> {
    await receive(() => received.length >= length || undefined);
    if (received.length < length) throw new Error("The server closed the connection in the middle of an answer");
    return take(length);
  }

  async function readAnswer(isHead = false): Promise<HttpAnswer> {
    const line = await takeLine();
    const status = Number(/^HTTP\/1\.[01] (\d{3})( |$)/.exec(line)?.[1]);
    if (Number.isNaN(status)) throw new Error(`This is no answer: ${line}`);
    const headers = new Map<string, string>();
    for (let line = await takeLine(); line !== ""; line = await takeLine()) {
      const colon = line.indexOf(":");
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    // Skips interim responses.
    if (status < 200) return readAnswer(isHead);
    const body = isHead || status === 204 || status === 304 ? Buffer.alloc(0) : await readBody(headers);
    return { status, headers, text: body.toString() };
  }

  async function readBody(headers: Map<string, string>): Promise<Buffer> {
    if (headers.get("transfer-encoding") !== "chunked") return takeBytes(Number(headers.get("content-length") ?? 0));
    const parts: Buffer[] = [];
    for (;;) {
      const length = parseInt(await takeLine(), 16);
      parts.push(await takeBytes(length));
      await takeLine();
      if (length === 0) return Buffer.concat(parts);
    }
  }

  return {
    write: (bytes) => void socket.write(bytes),
    readAnswer,
    opened,
    closed,
    stopReading: () => void socket.pause(),
    close: () => void socket.destroy(),
    end: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
  };
}
