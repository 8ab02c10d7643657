// Express 5. It takes the mount path off the URL. Body parsers come after the service.
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { announce, createService } from "./service.ts";

const service = createService();
const app = express();
app.use("/llm", getRequestListener(service.fetch));
app.use(express.json());
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
