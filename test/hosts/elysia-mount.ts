// Elysia 1 on Bun: `mount` takes the path off the URL, for which it wraps the request in another.
import { Elysia } from "elysia";
import { announce, createService } from "./service.ts";

const service = createService();
const app = new Elysia();
app.mount("/llm", service.fetch);
app.listen({ port: 0, hostname: "127.0.0.1" }, ({ port }) => announce(port!, "/llm"));
