// Koa 3. Body parsers come after the service.
import Koa from "koa";
import { toNodeHandler } from "../../src/node.ts";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const handler = toNodeHandler(service);
const app = new Koa();
app.use((ctx, next) => {
  if (!ctx.path.startsWith("/llm/")) return next();
  ctx.respond = false;
  return handler(ctx.req, ctx.res);
});
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
