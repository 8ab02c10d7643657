// Fastify 5 as it comes: its parser takes a JSON body before the service can read it.
import { getRequestListener } from "@hono/node-server";
import { fastify } from "fastify";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const listener = getRequestListener(service.fetch);
const app = fastify();
app.all("/llm/*", (request, reply) => {
  reply.hijack();
  return listener(request.raw, reply.raw);
});
await app.listen({ port: 0, host: "127.0.0.1" });
announce(app.server, "/llm");
