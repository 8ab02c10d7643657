// The entry for Cloudflare Workers: settings are bindings, and the database is remote and migrated beforehand.
import { readConfig } from "../config.ts";
import { createLog } from "../log.ts";
import { serviceOver } from "../service.ts";
import type { Service, ServiceOptions } from "../service.ts";
import { openRemote } from "../store/client.ts";

const open = serviceOver(openRemote);

/**
 * Makes a service on a remote database, to be mounted in a Worker of one's own. Its requests share nothing, and so no
 * transaction: a Worker's request that waits for what another one does is never answered.
 */
export function createService(options: ServiceOptions): Service {
  open(options).close();
  return { fetch: (request) => open(options).fetch(request), close() {} };
}

type Env = Record<string, string | undefined>;

export default {
  /** Answers a request; bindings that cannot be used fail the Worker with a message that names them. */
  fetch(request: Request, env: Env): Promise<Response> {
    const { database, maxBodyBytes, adminToken, corsOrigins, logLevel: level, logFormat: format } = readConfig(env);
    const log = createLog({ level, format, clock: Date.now, write: (line) => console.log(line) });
    return open({ database, maxBodyBytes, adminToken, corsOrigins, log }).fetch(request);
  },
};
