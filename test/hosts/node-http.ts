// Plain node:http, which @hono/node-server translates.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { announce, createService } from "./service.ts";

const service = createService();
const server = createServer(getRequestListener(service.fetch));
server.listen(0, "127.0.0.1", () => announce(server));
