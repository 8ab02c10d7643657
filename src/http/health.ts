// What an operator's probes ask: is the process alive, should it be sent requests, what has it measured.
import { databaseAway, stopping } from "../errors.ts";
import { metricsType } from "../metrics.ts";
import type { Asked, Context } from "./context.ts";
import { ok, refuse, text } from "./respond.ts";
import type { Answer } from "./respond.ts";

/** GET /healthz: the process answers. Touches nothing else. */
// deno-lint-ignore require-await -- a handler gives a promise
export const checkHealth = async (): Promise<Answer> => ok({ status: "ok" }, {});

/** GET /readyz: requests would be served; not where the database is away, or the service is about to stop. */
export async function checkReadiness(_asked: Asked, { inFlight, isReachable }: Context): Promise<Answer> {
  if (inFlight.isDraining()) return refuse(stopping());
  return await isReachable() ? ok({ status: "ok" }, {}) : refuse(databaseAway());
}

/** GET /metrics, in the text format of Prometheus. */
// deno-lint-ignore require-await
export const readMetrics = async (_asked: Asked, { telemetry }: Context): Promise<Answer> =>
  text(telemetry.metrics.text(), metricsType);
