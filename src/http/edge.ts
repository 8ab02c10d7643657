// Handling of all requests, whatever their route: an id, a limit on requests in flight, error handling, common headers,
// a log line and metrics.
import { invalidTarget, Refusal, unknownPath } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import { newRequestId } from "../common/ids.ts";
import { cancelLater, discardBody } from "./body.ts";
import type { Context, RequestContext, Route } from "./context.ts";
import { corsHeaders, preflightOf } from "./cors.ts";
import { findRefusal } from "./in-flight.ts";
import { levelOf } from "./log-context.ts";
import { refuse, toRefusal, toResponse } from "./respond.ts";
import type { Answer } from "./respond.ts";
import { requestIdOf, traceOf } from "./tracing.ts";

/** Answers a request. `isGone` returns true if the client has closed the connection, where reported. */
export type Handler = (request: Request, isGone?: () => boolean) => Promise<Response>;

/** The fetch handler of some routes under a base path. It answers every request and never rejects. */
export function handlerOf(route: Route, context: Context, basePath: string): Handler {
  const { secrets, faces, corsOrigins, inFlight, bodies } = context;
  const pathOf = (url: string) => new URL(url).pathname.slice(basePath.length).replace(/\/+$/, "");

  /** True for routes of faces, whose refusals have a `code`. The specification's do not. */
  const isOfFace = ({ route, url }: RequestContext): boolean => {
    const path = route?.slice(basePath.length) ?? (URL.canParse(url) ? pathOf(url) : "");
    return [...faces.keys()].some((face) => path === face || path.startsWith(`${face}/`));
  };

  return async (request, isGone) => {
    const began = performance.now();
    const end = inFlight.begin();
    const ctx: RequestContext = {
      request,
      method: request.method,
      url: request.url,
      requestId: requestIdOf(request, secrets) ?? newRequestId(),
      params: {},
      logContext: {},
      isGone,
      isKeyValid: false,
      bodyBytes: 0,
      bodyOwner: "",
      isBodyRead: false,
      bodyReader: undefined,
    };
    try {
      const { answer, cause } = await answerTo(ctx);
      const { headers } = answer;
      headers["X-Request-Id"] = ctx.requestId;
      if (corsOrigins.length > 0) Object.assign(headers, { ...corsHeaders(request, corsOrigins), ...headers });
      const isBodyLeft = answer.error !== undefined &&
        (endsBody.has(answer.error) || !await discardBody(ctx, context));
      if (isBodyLeft) cancelLater(ctx);
      if (isBodyLeft || inFlight.isDraining()) headers.Connection = "close";
      try {
        logRequest(ctx, answer, cause, performance.now() - began, basePath, context);
      } catch {
        // The log may be an embedder's. If it throws, the client still gets the response.
      }
      return toResponse(answer, ctx.method === "HEAD", context);
    } finally {
      bodies.giveBack(ctx.bodyOwner, ctx.bodyBytes);
      end();
    }
  };

  /** A refusal is answered as it is. From any other error the client learns only whether to retry. */
  async function answerTo(ctx: RequestContext): Promise<{ answer: Answer; cause?: unknown }> {
    const { request } = ctx;
    try {
      const refusal = findRefusal(inFlight);
      if (refusal !== undefined && !probes.has(pathOf(ctx.url))) throw refusal;
      return {
        answer: preflightOf(request, corsOrigins) ?? await route(ctx, context) ??
          refuse(unknownPath(), {}, isOfFace(ctx)),
      };
    } catch (error) {
      if (error instanceof Refusal) return { answer: refuse(error, {}, isOfFace(ctx)) };
      // Bun and Deno pass on requests whose URL cannot be parsed.
      if (!URL.canParse(request.url)) return { answer: refuse(invalidTarget()) };
      return { answer: refuse(toRefusal(error), {}, isOfFace(ctx)), cause: error };
    }
  }
}

/** Refusals after which the rest of a body is not read: the service is overloaded, or the client too slow. */
const endsBody = new Set<Answer["error"]>(["overloaded", "timeout"]);

/** Logs a request and counts it in the metrics. */
function logRequest(
  ctx: RequestContext,
  { status, error }: Answer,
  cause: unknown,
  ms: number,
  basePath: string,
  { log, telemetry }: Context,
): void {
  const { request, requestId, route, logContext } = ctx;
  const reason = cause ?? logContext.failure;
  const kind = error ?? (reason === undefined ? undefined : toRefusal(reason).kind);
  const method = methods.has(ctx.method) ? ctx.method : "other";
  const path = route === undefined ? "none" : route.slice(basePath.length) || "/";
  telemetry.requests(method, path, String(status));
  telemetry.requestSeconds(ms / 1000, method, path);
  const level = levelOf(kind);
  log[level === "info" && probes.has(path) ? "debug" : level]("Request", {
    requestId,
    method,
    route: path,
    status,
    ms: Math.round(ms * 1000) / 1000,
    workspaceId: logContext.workspaceId,
    keyId: logContext.keyId,
    deployId: logContext.deployId,
    tokenId: logContext.tokenId,
    groupSize: logContext.groupSize,
    error: kind,
    cause: reason === undefined ? undefined : describeError(reason),
    ...traceOf(request),
  });
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Probes and metrics must work when the service is overloaded, and must not fill its log. */
const probes = new Set(["/healthz", "/readyz", "/metrics"]);
