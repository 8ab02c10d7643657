// What all requests have in common, whatever their route: an id, a bound on how many there are, what becomes of errors, the
// headers of every answer, a line in the log, and measures.
import { internalError, invalidTarget, overloaded, Refusal, unknownPath } from "../errors.ts";
import { describeError } from "../log.ts";
import type { LogLevel } from "../config.ts";
import { discardBody } from "./body.ts";
import type { Asked, Context } from "./context.ts";
import { corsHeaders, preflightHeaders } from "./cors.ts";
import { noContent, refuse, toResponse } from "./respond.ts";
import type { Answer } from "./respond.ts";
import { requestIdOf, traceOf } from "./tracing.ts";

/** Finds and runs a handler; gives undefined where no route matches. It writes the route on what it is handed. */
export type Route = (asked: Asked, context: Context) => Promise<Answer | undefined>;

/** An answer, and what the log tells of it and no one else. */
type Outcome = { answer: Answer; cause?: unknown };

const mostInFlight = 20_000; // requests: more than wait for the ledger, since there are those whose body is still to come

/** The fetch handler of some routes under a base path. It answers every request and never rejects. */
export function handlerOf(route: Route, context: Context, basePath: string): (request: Request) => Promise<Response> {
  const { clock, newRequestId, corsOrigins, inFlight } = context;

  return async (request) => {
    const began = performance.now();
    const end = inFlight.begin();
    try {
      const asked: Asked = { request, requestId: requestIdOf(request) ?? newRequestId(clock()), params: {}, notes: {} };
      const { answer, cause } = await answerOf(route, asked, context);
      const common = { "X-Request-Id": asked.requestId, ...corsHeaders(request, corsOrigins) };
      const isBodyLeft = answer.error !== undefined && !await discardBody(request, context.bodyLimit);
      if (isBodyLeft || inFlight.isDraining()) answer.headers.Connection = "close";
      tell(asked, answer, cause, performance.now() - began, basePath, context);
      return toResponse(answer, common, request.method === "HEAD");
    } finally {
      end();
    }
  };
}

/** A refusal is answered as it says; of any other error the client learns that there was one, and no more. */
async function answerOf(route: Route, asked: Asked, context: Context): Promise<Outcome> {
  const { request } = asked;
  try {
    const preflight = preflightHeaders(request, context.corsOrigins);
    if (preflight !== undefined) return { answer: noContent(preflight) };
    if (context.inFlight.count() > mostInFlight && !isProbe.test(request.url)) throw overloaded();
    return { answer: await route(asked, context) ?? refuse(unknownPath()) };
  } catch (error) {
    if (error instanceof Refusal) return { answer: refuse(error) };
    // Bun and Deno hand over what no URL can be read from.
    if (!URL.canParse(request.url)) return { answer: refuse(invalidTarget()) };
    return { answer: refuse(internalError()), cause: error };
  }
}

/** One line for a request, and its measures. */
function tell(
  { request, requestId, route, notes }: Asked,
  { status, error }: Answer,
  cause: unknown,
  ms: number,
  basePath: string,
  { log, telemetry }: Context,
): void {
  const method = methods.has(request.method) ? request.method : "other";
  const path = route === undefined ? "none" : route.slice(basePath.length);
  telemetry.requests(method, path, String(status));
  telemetry.requestSeconds(ms / 1000, path);
  log[levelOf(path, error)]("Request", {
    requestId,
    method,
    route: path,
    status,
    ms: Math.round(ms * 1000) / 1000,
    workspaceId: notes.workspaceId,
    keyId: notes.keyId,
    deployId: notes.deployId,
    groupSize: notes.groupSize,
    error,
    cause: cause === undefined ? undefined : describeError(cause),
    ...traceOf(request),
  });
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const probes = new Set(["/healthz", "/readyz", "/metrics"]);

/** What tells of a service that is too busy must not be refused because it is. */
const isProbe = /\/(healthz|readyz|metrics)(\?|$)/;

function levelOf(path: string, error: Answer["error"]): LogLevel {
  if (error === "internal") return "error";
  if (error === "overloaded" || error === "unavailable") return "warn";
  return probes.has(path) ? "debug" : "info";
}
