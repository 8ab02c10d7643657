// Cloudflare Workers: the service in a Worker of one's own. Its requests share nothing.
import { createService } from "../../src/runtime/worker.ts";
import { limits } from "./limits.ts";
import { withMiddleware } from "./middleware.ts";

type Env = { DATABASE_URL: string; ADMIN_TOKEN: string };

export default {
  fetch(request: Request, { DATABASE_URL: database, ADMIN_TOKEN: adminToken }: Env): Promise<Response> {
    const service = createService({ database, adminToken, basePath: "/llm", ...limits });
    return withMiddleware(service.fetch)(request);
  },
};
