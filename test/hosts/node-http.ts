// Plain node:http.
import { createServer } from "node:http";
import { toNodeHandler } from "../../src/node.ts";
import { announce, createService } from "./service.ts";

const service = createService();
const server = createServer(toNodeHandler(service));
server.listen(0, "127.0.0.1", () => announce(server));
