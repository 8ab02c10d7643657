// Express 5 in the wrong order: the body parser takes the body before the service can read it.
import express from "express";
import { toNodeHandler } from "../../src/node.ts";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = express();
app.use(express.json());
app.use("/llm", toNodeHandler(service));
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
