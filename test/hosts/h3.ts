// h3 2.
import { H3, serve } from "h3";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = new H3();
app.all("/llm/**", (event) => service.fetch(event.req));
const server = await serve(app, { port: 0, hostname: "127.0.0.1", silent: true }).ready();
announce(Number(new URL(server.url!).port), "/llm");
