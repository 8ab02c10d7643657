// Express 5 with a body parser ahead of the service, which keeps the raw body.
import type { IncomingMessage } from "node:http";
import express from "express";
import { toNodeHandler } from "../../src/node.ts";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = express();
app.use(express.json({
  type: () => true,
  verify: (request: IncomingMessage & { rawBody?: Uint8Array }, _response, body) => void (request.rawBody = body),
}));
app.use("/llm", toNodeHandler(service));
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
