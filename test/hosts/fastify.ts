// Fastify 5. The hook runs before its body parsers.
import { fastify } from "fastify";
import { toNodeHandler } from "../../src/node.ts";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const handler = toNodeHandler(service);
const app = fastify();
app.all("/llm/*", {
  onRequest: (request, reply) => handler(request.raw, reply.hijack().raw),
}, () => {});
await app.listen({ port: 0, host: "127.0.0.1" });
announce(app.server, "/llm");
