// Liveness, readiness and metrics, for operators.
import { build } from "../../common/build.ts";
import { stopping } from "../../common/errors.ts";
import { metricsType } from "../../common/metrics.ts";
import type { Context, RequestContext } from "../context.ts";
import { ok, text } from "../respond.ts";
import type { Answer } from "../respond.ts";

/** GET /healthz: the process answers with its build. This touches nothing else. */
// deno-lint-ignore require-await -- a handler returns a promise
export const checkHealth = async (): Promise<Answer> => ok({ status: "ok", ...build }, {});

/** GET /readyz: refuses with the reason if the service is not ready. */
export async function checkReadiness(_ctx: RequestContext, context: Context): Promise<Answer> {
  await requireReady(context);
  return ok({ status: "ok" }, {});
}

/** Throws if the service is not ready. */
export async function requireReady({ inFlight, findObstacle }: Context): Promise<void> {
  const obstacle = inFlight.isDraining() ? stopping() : await findObstacle();
  if (obstacle !== undefined) throw obstacle;
}

/** GET /metrics, in the text format of Prometheus. Its routes decide who may read it. */
export async function readMetrics(_ctx: RequestContext, { telemetry }: Context): Promise<Answer> {
  await telemetry.metrics.prepare();
  return text(telemetry.metrics.text(), metricsType);
}
