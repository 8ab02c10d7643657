// Sends the requests to a libSQL server on Node. Its fetch would take a lone group 0.6 ms longer.
import * as http from "node:http";
import * as https from "node:https";
import type { Send } from "../client.ts";

// The longer a connection was idle, the more likely it is that the server closes it at the moment it is used again.
const idle = { keepAlive: true, timeout: 4_000 }; // ms
const schemes = {
  "http:": { request: http.request, agent: new http.Agent(idle) },
  "https:": { request: https.request, agent: new https.Agent(idle) },
};

/** Follows no redirects. The response has only the header that the client of libSQL reads. */
export const sendOnNode: Send = async (request, signal) => {
  const bytes = new Uint8Array(await request.arrayBuffer());
  const { response, body } = await exchange(request, bytes, signal);
  const type = response.headers["content-type"] ?? "";
  return new Response(body.length > 0 ? body : null, {
    status: response.statusCode!,
    headers: { "Content-Type": type },
  });
};

/** Sends a request. Rejects with the reason of the signal if it aborts. */
function exchange({ url, method, headers }: Request, bytes: Uint8Array, signal: AbortSignal) {
  const { request, agent } = schemes[url.startsWith("https:") ? "https:" : "http:"];
  const options = {
    agent,
    method,
    signal,
    headers: { ...Object.fromEntries(headers), "Content-Length": bytes.length },
  };
  return new Promise<{ response: http.IncomingMessage; body: Uint8Array<ArrayBuffer> }>((resolve, reject) => {
    const fail = (error: unknown) => reject(signal.aborted ? signal.reason : error);
    const sent = request(url, options, (response) => {
      const chunks: Uint8Array[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ response, body: Buffer.concat(chunks) }));
      response.on("error", fail);
    });
    sent.on("error", fail).end(bytes);
  });
}
