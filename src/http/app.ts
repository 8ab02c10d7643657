// Every route. The only importer of itty-router.
import { Router } from "itty-router";
import type { RouterType } from "itty-router";
import { managementOff, methodNotAllowed } from "../common/errors.ts";
import { operations } from "../management/index.ts";
import { adminPath, manage } from "./admin.ts";
import { requireAdmin } from "./authorization.ts";
import type { Context } from "./context.ts";
import { submitDiagnosis } from "./diagnosis.ts";
import { handlerOf } from "./edge.ts";
import type { Handler, Route } from "./edge.ts";
import { checkHealth, checkReadiness, readMetrics } from "./health.ts";
import { openapi } from "./openapi.ts";
import { readPrompt } from "./prompts.ts";
import { okBytes, refuse } from "./respond.ts";
import { readRoot } from "./root.ts";
import { readUsage } from "./usage.ts";

/** The routes of a service, all under a base path. */
export type App = { route: Route; base: string };

/** Makes the routes of a service. */
export function createApp(
  { basePath = "", servesMetrics = false, hasManagement }: {
    basePath?: string | undefined;
    servesMetrics?: boolean | undefined;
    hasManagement: boolean;
  },
): App {
  const base = basePath.replace(/\/$/, "");
  const router = Router({ base })
    .get("/v1/prompts", readPrompt)
    .head("/v1/prompts", readPrompt)
    .post("/v1/prompts", submitDiagnosis)
    .all("/v1/prompts", allowOnly("GET, HEAD, POST"))
    .post("/v1/diagnosis", submitDiagnosis)
    .all("/v1/diagnosis", allowOnly("POST"));
  addReads(router, { "/": readRoot, "/v1/usage": readUsage, "/openapi.json": describe });
  addReads(router, { "/healthz": checkHealth, "/readyz": checkReadiness });
  if (servesMetrics) {
    router.all("/metrics", requireAdmin);
    addReads(router, { "/metrics": readMetrics });
  }
  if (hasManagement) addOperations(router);
  else router.all(`${adminPath}/*`, () => refuse(managementOff()));
  return { route: routeOf(router), base };
}

/** The service on its routes. */
export const serveApp = ({ route, base }: App, context: Context): Handler => handlerOf(route, context, base);

/** What an operator's address of its own answers, to everyone who reaches it. */
export function createProbes(context: Context): Handler {
  const router = Router();
  addReads(router, { "/healthz": checkHealth, "/readyz": checkReadiness, "/metrics": readMetrics });
  return handlerOf(routeOf(router), context, "");
}

/** The router writes on what it is handed, and a request is not ours to write on, so it is handed over inside. */
const routeOf = (router: RouterType): Route => (asked, context) => {
  asked.url = asked.url.replace(/\?.*/s, "");
  return router.fetch(asked, context);
};

let description: Uint8Array | undefined;

// deno-lint-ignore require-await -- a handler gives a promise
const describe = async () => okBytes(description ??= new TextEncoder().encode(JSON.stringify(openapi)));

function addReads(router: RouterType, reads: Record<string, Route>): void {
  for (const [path, read] of Object.entries(reads)) {
    router.get(path, read).head(path, read).all(path, allowOnly("GET, HEAD"));
  }
}

/** Everything under the path of the management API asks for its token first, and what is not there too. */
function addOperations(router: RouterType): void {
  router.all(`${adminPath}/*`, requireAdmin);
  const methods = new Map<string, string[]>();
  for (const operation of operations) {
    const path = adminPath + operation.path.replace(/{(\w+)}/g, ":$1");
    router[operation.method.toLowerCase()]!(path, manage(operation));
    methods.set(path, [...methods.get(path) ?? [], operation.method]);
  }
  for (const [path, allowed] of methods) router.all(path, allowOnly(allowed.join(", ")));
}

const allowOnly = (methods: string) => () => refuse(methodNotAllowed(), { Allow: methods });
