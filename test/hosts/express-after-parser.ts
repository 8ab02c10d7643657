// Express 5 in the wrong order: the body parser takes the body before the service can read it.
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { announce, createService } from "./service.ts";

const service = createService();
const app = express();
app.use(express.json());
app.use("/llm", getRequestListener(service.fetch));
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
