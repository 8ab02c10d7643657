// The entry for Cloudflare Workers: settings are bindings, and the database is remote and migrated beforehand.
import { readConfig } from "../config.ts";
import { createLog } from "../log.ts";
import { serviceOver } from "../service.ts";
import type { Service, ServiceOptions } from "../service.ts";
import { openRemote } from "../store/client.ts";

/** Makes a service on a remote database, to be mounted in a Worker of one's own. */
export const createService: (options: ServiceOptions) => Service = serviceOver(openRemote);

type Env = Record<string, string | undefined>;

let service: Service | undefined;

function open(env: Env): Service {
  const { database, maxBodyBytes, logLevel: level, logFormat: format } = readConfig(env);
  const log = createLog({ level, format, clock: Date.now, write: (line) => console.log(line) });
  return createService({ database, maxBodyBytes, log });
}

export default {
  /** Answers a request; bindings that cannot be used fail the Worker with a message that names them. */
  fetch(request: Request, env: Env): Promise<Response> {
    service ??= open(env);
    return service.fetch(request);
  },
};
