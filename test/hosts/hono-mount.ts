// Hono 4, on any runtime: `mount` takes the path off the URL, for which it wraps the request in another.
import { Hono } from "hono";
import { listen } from "./listen.ts";
import { createService } from "./service.ts";

const service = createService();
const app = new Hono();
app.mount("/llm", service.fetch);
await listen(app.fetch, "/llm");
