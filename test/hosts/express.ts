// Express 5. Body parsers come after the service.
import express from "express";
import { toNodeHandler } from "../../src/node.ts";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = express();
app.use("/llm", toNodeHandler(service));
app.use(express.json());
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
