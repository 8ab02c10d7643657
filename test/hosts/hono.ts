// Hono 4, on any runtime: a route hands the request on as it came.
import { Hono } from "hono";
import { listen } from "./listen.ts";
import { createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = new Hono();
app.all("/llm/*", (c) => service.fetch(c.req.raw));
await listen(app.fetch, "/llm");
