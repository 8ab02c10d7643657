// Elysia 1 on Bun: a route without a parser hands the request on as it came.
import { Elysia } from "elysia";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const app = new Elysia();
app.all("/llm/*", ({ request }) => service.fetch(request), { parse: "none" });
app.listen({ port: 0, hostname: "127.0.0.1" }, ({ port }) => announce(port!, "/llm"));
