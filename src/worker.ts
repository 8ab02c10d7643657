// The entry `promptledger/worker`: a Worker for Cloudflare, whose settings are bindings.
import { readConfig } from "./runtime/settings/config.ts";
import type { Config } from "./runtime/settings/config.ts";
import { createLog, describeError } from "./common/log.ts";
import { createShared } from "./service/service.ts";
import type { ServiceSettings, Shared } from "./service/service.ts";
import { openRemote } from "./database/client.ts";
import { runChecks } from "./management/upkeep/checks.ts";
import { createDelivery, removeOldDeliveries } from "./management/events/deliver.ts";
import type { Store } from "./management/kernel/operation.ts";
import { after } from "./common/timeout.ts";
import { runUpkeep } from "./management/upkeep/upkeep.ts";
import { mcp } from "./mcp/face.ts";
import { servedFaces } from "./runtime/serving/served-faces.ts";
import { sendFrom } from "./runtime/worker-send.ts";
import { answer, mayChange, requireRemote } from "./runtime/worker-requests.ts";

export {
  createLog,
  createService,
  fromPino,
  migrate,
  MissingVariablesError,
  openService,
  Refusal,
  render,
} from "./runtime/workers.ts";
export type * from "./runtime/workers.ts";

const scheduledTime = 20_000; // ms
const soonTime = 10_000; // ms. Cloudflare stops work 30 s after a response, and the last request may take its timeout
const leastRefusal = 400; // the least status of a response that refuses
const webhookTimeout = 15_000; // ms that a webhook has to answer

let known: { config: Config; settings: ServiceSettings; shared: Shared } | undefined;

/**
 * The service for the bindings. They are the same for all requests of a Worker, but known only from the first one on.
 */
function serviceOf(env: object) {
  const config = readConfig(Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string")));
  if (known !== undefined && JSON.stringify(known.config) === JSON.stringify(config)) return known;
  const { maxBodyBytes, bodyBudgetBytes, corsOrigins, logLevel: level, logFormat: format } = config;
  const log = createLog({ level, format, clock: Date.now, write: (line) => console.log(line) });
  const { faces } = servedFaces(config, config.mcp ? [mcp()] : [], { log });
  const settings = { maxBodyBytes, bodyBudgetBytes, corsOrigins, log, faces };
  return known = { config, settings, shared: createShared(settings) };
}

/** The context of a Worker's request: `waitUntil` keeps it running after its response. */
type Context = { waitUntil(promise: Promise<unknown>): void };

/** Sends due events to webhooks. Returns whether there are any webhooks. */
async function deliver(store: Store, allowed: readonly string[], isOver: () => boolean): Promise<boolean> {
  const failures: unknown[] = [];
  const delivery = createDelivery({
    ...{ store, isOver, send: sendFrom(allowed, webhookTimeout) },
    onAttempt() {},
    onError: (error) => void failures.push(error),
  });
  const hasWebhooks = await delivery.look();
  await delivery.rest();
  if (failures.length > 0) throw failures[0];
  return hasWebhooks;
}

/**
 * A Worker that runs the service, with its bindings as settings.
 *
 * @example
 * export { default } from "promptledger/worker";
 */
export default {
  /**
   * Answers a request. After a change, webhooks get its event, and not only at the next run of the trigger. Fails the
   * Worker with a message that lists every invalid binding.
   */
  fetch(request: Request, env: object, context?: Context): Promise<Response> {
    const { config, settings, shared } = serviceOf(env);
    const source = requireRemote(config.database);
    const { response, sent } = answer(request, source, settings, shared);
    if (context !== undefined && mayChange(request)) {
      const delivering = response.then(async ({ status }) => {
        if (status >= leastRefusal) return;
        // The response of long work begins before its change is made.
        await sent;
        const store = { database: openRemote(source, "serve"), clock: Date.now };
        await deliver(store, config.webhookAllow, after(soonTime));
      });
      context.waitUntil(delivering.catch((error: unknown) => {
        settings.log?.error("The delivery of webhooks failed; it goes on", { cause: describeError(error) });
      }));
    }
    return response;
  },
  /** Runs the upkeep that `serve` runs in the background, for some seconds. The next run continues it. */
  async scheduled(_event: unknown, env: object): Promise<void> {
    const { config, settings: { log } } = serviceOf(env);
    const database = openRemote(requireRemote(config.database), "serve");
    const options = { holder: crypto.randomUUID(), interval: 0, isOver: after(scheduledTime) };
    const store = { database, clock: Date.now };
    const delivering = deliver(store, config.webhookAllow, options.isOver).then(
      (hasWebhooks) => hasWebhooks ? removeOldDeliveries(store, options.isOver) : undefined,
    ).then(() => undefined, (error) => ({ error }));
    const errors = await runChecks({ store, log, isOver: options.isOver });
    const run = await runUpkeep(store, options);
    const failure = await delivering;
    if (failure !== undefined) throw failure.error;
    if (errors.length > 0) throw errors[0];
    if ("nextAt" in run) return;
    if (run.error !== undefined) throw run.error;
    log?.info("Removed calls and records past their retention", { calls: run.calls, records: run.records });
  },
};
