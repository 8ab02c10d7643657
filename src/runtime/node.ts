// Listens on Node.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Listen } from "./server.ts";

export const listen: Listen = (fetch, { host, port }, warn) => {
  // What no Request can be made of, for its Host or target, is answered as on runtimes that hand it over.
  const errorHandler = () => fetch(Object.defineProperty(new Request("http://unknown"), "url", { value: "" }));
  const answer = getRequestListener(fetch, { errorHandler });
  const server = createServer(limits, (request, response) => {
    // Fetch knows no such request: under this name, which no route has, it is refused too.
    if (request.method === "TRACE") request.method = "UNKNOWN";
    return answer(request, response);
  });
  server.maxConnections = mostConnections;
  server.on("drop", () => warn(`More than ${mostConnections} connections: the others are closed`));
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
