// Every route, and what becomes of what a handler throws. The only importer of itty-router.
import { Router } from "itty-router";
import type { RouterType } from "itty-router";
import { internalError, invalidTarget, methodNotAllowed, Refusal, unknownPath } from "../errors.ts";
import { newId } from "../ids.ts";
import { describeError } from "../log.ts";
import { discardBody } from "./body.ts";
import { operations } from "../operations/operations.ts";
import { adminPath, manage } from "./admin.ts";
import { requireAdmin } from "./authorization.ts";
import type { Asked, Context } from "./context.ts";
import { submitDiagnosis } from "./diagnosis.ts";
import { openapi } from "./openapi.ts";
import { readPrompt } from "./prompts.ts";
import { ok, refuse, withoutBody } from "./respond.ts";
import { readUsage } from "./usage.ts";

/** Gives undefined where no route matches. */
type Route = (request: Request, context: Context) => Promise<Response | undefined>;

/** The fetch handler, with all routes under `basePath`. It answers every request and never rejects. */
export function createApp(context: Context, basePath = ""): (request: Request) => Promise<Response> {
  const router = Router({ base: basePath })
    .get("/v1/prompts", readPrompt)
    .head("/v1/prompts", readPrompt)
    .post("/v1/prompts", submitDiagnosis)
    .all("/v1/prompts", allowOnly("GET, HEAD, POST"))
    .post("/v1/diagnosis", submitDiagnosis)
    .all("/v1/diagnosis", allowOnly("POST"))
    .get("/v1/usage", readUsage)
    .head("/v1/usage", readUsage)
    .all("/v1/usage", allowOnly("GET, HEAD"))
    .get("/openapi.json", describe)
    .head("/openapi.json", describe)
    .all("/openapi.json", allowOnly("GET, HEAD"));
  if (context.adminToken !== undefined) addOperations(router, basePath.replace(/\/$/, ""));
  // The router writes on what it is handed, and a request is not ours to write on, so it is handed over inside. Handlers
  // read its query themselves, since the router's reading drops some of it.
  const route: Route = (request, context) =>
    router.fetch({ method: request.method, url: request.url.replace(/\?.*/s, ""), request }, context);

  return async (request) => {
    const response = await answer(route, request, context);
    if (!response.ok && !await discardBody(request, context.bodyLimit)) response.headers.set("Connection", "close");
    return request.method === "HEAD" && response.body !== null ? withoutBody(response) : response;
  };
}

// deno-lint-ignore require-await -- a handler gives a promise
const describe = async () => ok(openapi, {});

/** Everything under the path of the management API asks for its token first, and what is not there too. */
function addOperations(router: RouterType, basePath: string): void {
  router.all(`${adminPath}/*`, ({ request }: Asked, context: Context) => requireAdmin(request, context));
  const methods = new Map<string, string[]>();
  for (const operation of operations) {
    const path = adminPath + operation.path.replace(/{(\w+)}/g, ":$1");
    router[operation.method.toLowerCase()]!(path, manage(operation, basePath + adminPath));
    methods.set(path, [...methods.get(path) ?? [], operation.method]);
  }
  for (const [path, allowed] of methods) router.all(path, allowOnly(allowed.join(", ")));
}

const allowOnly = (methods: string) => () => refuse(methodNotAllowed(), { Allow: methods });

/** A refusal is answered as it says; of any other error the client learns the id under which it is logged, no more. */
async function answer(route: Route, request: Request, context: Context): Promise<Response> {
  try {
    return await route(request, context) ?? refuse(unknownPath());
  } catch (error) {
    if (error instanceof Refusal) return refuse(error);
    // Bun and Deno hand over what no URL can be read from.
    if (!URL.canParse(request.url)) return refuse(invalidTarget());
    const requestId = newId("req", context.clock());
    context.log.error("Request failed", { requestId, method: request.method, error: describeError(error) });
    return refuse(internalError(), { "X-Request-Id": requestId });
  }
}
