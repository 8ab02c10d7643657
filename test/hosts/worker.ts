// Cloudflare Workers: the service in a Worker of one's own. The bindings come with the first request.
import { management } from "../../src/management.ts";
import { createService } from "../../src/runtime/workers.ts";
import type { Service } from "../../src/runtime/workers.ts";
import { limits } from "./limits.ts";
import { withMiddleware } from "./middleware.ts";

type Env = { DATABASE_URL: string; ADMIN_TOKEN: string };

let service: Service | undefined;

export default {
  fetch(request: Request, { DATABASE_URL: database, ADMIN_TOKEN: adminToken }: Env): Promise<Response> {
    service ??= createService({
      database,
      basePath: "/llm",
      metricsToken: adminToken,
      faces: [management({ adminToken })],
      ...limits,
    });
    return withMiddleware(service.fetch)(request);
  },
};
