// Cloudflare Workers: the service in a Worker of one's own. The bindings come with the first request.
import { createService } from "../../src/worker.ts";
import type { Service } from "../../src/worker.ts";
import { limits } from "./limits.ts";
import { withMiddleware } from "./middleware.ts";

type Env = { DATABASE_URL: string; ADMIN_TOKEN: string };

let service: Service | undefined;

export default {
  fetch(request: Request, { DATABASE_URL: database, ADMIN_TOKEN: adminToken }: Env): Promise<Response> {
    service ??= createService({ database, adminToken, basePath: "/llm", servesMetrics: true, ...limits });
    return withMiddleware(service.fetch)(request);
  },
};
