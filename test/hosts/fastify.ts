// Fastify 5. Its body parsers are taken out of the scope that the service is in.
import { getRequestListener } from "@hono/node-server";
import { fastify } from "fastify";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const listener = getRequestListener(service.fetch);
const app = fastify();
app.register((scope, _options, done) => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
  scope.all("/llm/*", (request, reply) => {
    reply.hijack();
    return listener(request.raw, reply.raw);
  });
  done();
});
await app.listen({ port: 0, host: "127.0.0.1" });
announce(app.server, "/llm");
