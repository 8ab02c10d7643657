// h3 1, as Nuxt 3 and Nitro 2 have it.
import { createServer } from "node:http";
import { createApp, fromWebHandler, toNodeListener } from "h3-1";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = createApp();
app.use("/llm", fromWebHandler(service.fetch));
const server = createServer(toNodeListener(app));
server.listen(0, "127.0.0.1", () => announce(server, "/llm"));
