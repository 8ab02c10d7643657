// The transport without HTTP: passes the requests of the cases to `fetch`, as a host does.
import { Buffer } from "node:buffer";
import type { HttpAnswer } from "./http-client.ts";
import type { Send } from "./target.ts";

/** Sends requests to a fetch handler. */
export const inProcess = (fetch: (request: Request) => Promise<Response>): Send => async (path, request = {}) => {
  const { method = "GET", headers: lines = [], body, chunkSize } = request;
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    // A socket delivers bytes, not characters.
    headers.append(line.slice(0, colon), Buffer.from(line.slice(colon + 1)).toString("latin1"));
  }
  const bytes = Buffer.from(body ?? "");
  if (body !== undefined && chunkSize === undefined) headers.set("Content-Length", String(bytes.length));
  const sent = body === undefined ? {} : { body: inChunks(bytes, chunkSize ?? bytes.length), duplex: "half" };
  const response = await fetch(new Request(`http://ledger.test${path}`, { method, headers, ...sent } as RequestInit));
  const answer: HttpAnswer = { status: response.status, headers: new Map(response.headers), text: "" };
  return { ...answer, text: await response.text() };
};

const inChunks = (bytes: Buffer, size: number) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(new Uint8Array(bytes.subarray(at, at + size)));
      controller.close();
    },
  });
