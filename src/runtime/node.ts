// Listens on Node.
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createListener } from "./node-handler.ts";
import type { Listen } from "./server.ts";

export const listen: Listen = (handle, { host, port }, warn) => {
  const { listener, refuseRest } = createListener(handle);
  const server = createServer(limits, listener);
  server.maxConnections = maxConnections;
  server.on("drop", () => warn(`More than ${maxConnections} connections; closing the others`));
  server.on("clientError", (error, socket) => refuseRest(error, socket as Socket));
  const stop = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port, stop }));
  });
};

// A proxy must not find an idle connection closed that it is about to use: a POST would be a 502. nginx keeps one for
// 60 s, programs in Go mostly for 90 s, and Caddy for 120 s.
const limits = {
  headersTimeout: 10_000, // ms for the head of a request
  requestTimeout: 60_000, // ms for all of it; the service itself times out sooner
  keepAliveTimeout: 150_000, // ms
  connectionsCheckingInterval: 1_000, // ms
  highWaterMark: 8_192, // bytes received before reading pauses: in chunks of one byte they take 20 ms
};

const maxConnections = 10_000;
