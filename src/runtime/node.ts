// Listens on Node.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { invalidTarget } from "../errors.ts";
import { refuse } from "../http/respond.ts";
import type { Listen } from "./boot.ts";

export const listen: Listen = (fetch, { host, port }) => {
  // What the adapter cannot make a Request of never reaches the service.
  const errorHandler = () => refuse(invalidTarget());
  const answer = getRequestListener(fetch, { errorHandler });
  const server = createServer((request, response) => {
    // While stopping, a connection kept alive ends with the answer it waits for.
    if (!server.listening) response.shouldKeepAlive = false;
    return answer(request, response);
  });
  const stop = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port, stop }));
  });
};
