// Koa 3. Body parsers come after the service.
import { getRequestListener } from "@hono/node-server";
import Koa from "koa";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const listener = getRequestListener(service.fetch);
const app = new Koa();
app.use((ctx, next) => {
  if (!ctx.path.startsWith("/llm/")) return next();
  ctx.respond = false;
  return listener(ctx.req, ctx.res);
});
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
