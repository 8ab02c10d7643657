// Routes of a service: those of the data plane and of its faces.
import { requireBearer } from "../http/authorization.ts";
import type { Context, Route } from "../http/context.ts";
import { submitDiagnoses } from "../http/calls/diagnoses.ts";
import { submitDiagnosis } from "../http/calls/diagnosis.ts";
import { handlerOf } from "../http/edge.ts";
import type { Handler } from "../http/edge.ts";
import type { Face, FaceHost } from "../http/face.ts";
import { checkHealth, checkReadiness, readMetrics } from "../http/calls/health.ts";
import { readPrompt } from "../http/calls/prompts.ts";
import { readRevisions } from "../http/calls/revisions.ts";
import { readRoot } from "../http/calls/root.ts";
import { addReads, allowOnly, createRouter, routeOf } from "../http/router.ts";
import { readUsage } from "../http/calls/usage.ts";

/** The routes of a service, all under a base path. */
export type App = {
  base: string;
  route: Route;
  /** Functions that open a face's routes for a service, by path. */
  faces: Map<string, (host: FaceHost) => Route>;
};

/** Makes the routes of a service. */
export function createApp(
  { basePath = "", metricsToken, faces = [] }: {
    basePath?: string | undefined;
    metricsToken?: string | undefined;
    faces?: readonly Face[] | undefined;
  },
): App {
  const base = basePath.replace(/\/$/, "");
  const router = createRouter(base)
    .get("/v1/prompts", readPrompt)
    .head("/v1/prompts", readPrompt)
    .post("/v1/prompts", submitDiagnosis)
    .all("/v1/prompts", allowOnly("GET, HEAD, POST"))
    .post("/v1/diagnosis", submitDiagnosis)
    .all("/v1/diagnosis", allowOnly("POST"))
    .post("/v1/diagnoses", submitDiagnoses)
    .all("/v1/diagnoses", allowOnly("POST"));
  addReads(router, {
    "/": readRoot,
    "/v1/usage": readUsage,
    "/v1/revisions": readRevisions,
    "/healthz": checkHealth,
    "/readyz": checkReadiness,
  });
  if (metricsToken !== undefined) {
    router.all("/metrics", ({ request }) => requireBearer(request, metricsToken));
    addReads(router, { "/metrics": readMetrics });
  }
  for (const { path, routes = [`${path}/*`] } of faces) {
    for (const route of routes) router.all(route, (ctx, context: Context) => context.faces.get(path)!(ctx, context));
  }
  return { base, route: routeOf(router), faces: new Map(faces.map((face) => [face.path, face.mount(base, faces)])) };
}

/** Makes the handler of the service from its routes. */
export const serveApp = ({ route, base }: App, context: Context): Handler => handlerOf(route, context, base);

/** Makes the handler of probes and metrics for a separate address. It requires no token. */
export function createProbes(context: Context): Handler {
  const router = createRouter("");
  addReads(router, { "/healthz": checkHealth, "/readyz": checkReadiness, "/metrics": readMetrics });
  return handlerOf(routeOf(router), context, "");
}
