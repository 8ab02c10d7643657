// @whatwg-node/server behind Express 5 in the wrong order: it makes a body of what the parser has made of the original.
import { createServerAdapter } from "@whatwg-node/server";
import express from "express";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = express();
app.use(express.json());
app.use("/llm", createServerAdapter((request: Request) => service.fetch(request)));
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
