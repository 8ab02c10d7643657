// The entry `promptledger/worker`: a Worker of its own on Cloudflare, whose settings are bindings.
import { readConfig } from "./common/config.ts";
import type { Config } from "./common/config.ts";
import { createLog } from "./common/log.ts";
import { management } from "./http/management.ts";
import { createShared } from "./http/service.ts";
import type { ServiceSettings, Shared } from "./http/service.ts";
import { answer, requireRemote } from "./runtime/workers.ts";

export { createLog, createService, migrate, Refusal } from "./runtime/workers.ts";
export type * from "./runtime/workers.ts";

let known: { config: Config; settings: ServiceSettings; shared: Shared } | undefined;

/** The service for the bindings. They are the same for all requests of a Worker, but known only from the first one on. */
function serviceOf(env: object) {
  const config = readConfig(Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string")));
  if (known !== undefined && JSON.stringify(known.config) === JSON.stringify(config)) return known;
  const { maxBodyBytes, bodyBudgetBytes, adminToken, corsOrigins, logLevel: level, logFormat: format } = config;
  const log = createLog({ level, format, clock: Date.now, write: (line) => console.log(line) });
  const settings = { maxBodyBytes, bodyBudgetBytes, corsOrigins, log, faces: [management({ adminToken })] };
  return known = { config, settings, shared: createShared(settings) };
}

export default {
  /** Answers a request. Fails the Worker with a message that lists every invalid binding. */
  fetch(request: Request, env: object): Promise<Response> {
    const { config, settings, shared } = serviceOf(env);
    return answer(request, requireRemote(config.database), settings, shared);
  },
};
