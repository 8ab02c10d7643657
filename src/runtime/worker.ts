// The entry for Cloudflare Workers: settings are bindings, and the database is remote and migrated beforehand.
import { readConfig } from "../config.ts";
import { createLog } from "../log.ts";
import { createService } from "../service.ts";
import type { Service } from "../service.ts";

type Env = Record<string, string | undefined>;

let service: Service | undefined;

function open(env: Env): Service {
  const { database, maxBodyBytes, logLevel: level, logFormat: format } = readConfig(env);
  // A Worker's log is its console.
  const log = createLog({ level, format, clock: Date.now, write: (line) => console.log(line) });
  return createService({ database, maxBodyBytes, log });
}

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    service ??= open(env);
    return service.fetch(request);
  },
};
