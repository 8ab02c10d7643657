// Cloudflare Workers: the service in a Worker of one's own, made at module scope, where the bindings are known too.
import { env } from "cloudflare:workers";
import { management } from "../../src/management.ts";
import { createService } from "../../src/runtime/workers.ts";
import { limitsOf } from "./limits.ts";
import { withMiddleware } from "./middleware.ts";

const { DATABASE_URL: database, ADMIN_TOKEN: adminToken, IS_HASTY } = env;
const service = createService({
  database,
  basePath: "/llm",
  metricsToken: adminToken,
  faces: [management({ adminToken })],
  ...limitsOf(IS_HASTY === "true"),
});

export default { fetch: withMiddleware(service.fetch) };
