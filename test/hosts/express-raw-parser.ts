// Express 5 behind `express.raw()`, which leaves the bytes of the body in `request.body`.
import express from "express";
import { toNodeHandler } from "../../src/node.ts";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = express();
app.use(express.raw({ type: () => true }));
app.use("/llm", toNodeHandler(service));
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
