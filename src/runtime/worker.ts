// The entry for Cloudflare Workers: settings are bindings, and the database is remote and migrated beforehand.
import { isFileUrl, readConfig } from "../config.ts";
import { invalid } from "../errors.ts";
import { createLog } from "../log.ts";
import { createService } from "../service.ts";
import type { Service } from "../service.ts";

type Env = Record<string, string | undefined>;

let service: Service | undefined;

function open(env: Env): Service {
  const { database, maxBodyBytes, logLevel: level, logFormat: format } = readConfig(env);
  if (isFileUrl(database.url)) throw invalid("DATABASE_URL must name a remote database: a Worker has no files");
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
