// @whatwg-node/server, which GraphQL Yoga, ts-rest and others build on.
import { createServer } from "node:http";
import { createServerAdapter } from "@whatwg-node/server";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const server = createServer(createServerAdapter((request: Request) => service.fetch(request)));
server.listen(0, "127.0.0.1", () => announce(server, "/llm"));
