// What all requests have in common, whatever their route: an id, a bound on how many there are, what becomes of errors, the
// headers of every answer, a line in the log, and measures.
import {
  databaseAway,
  databaseBusy,
  internalError,
  invalidTarget,
  overloaded,
  Refusal,
  stopping,
  unknownPath,
} from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import type { LogLevel } from "../common/config.ts";
import { newRequestId } from "../common/ids.ts";
import { failureOf } from "../database/database.ts";
import { cancelLater, discardBody } from "./body.ts";
import type { Context, RequestContext, Route } from "./context.ts";
import { corsHeaders, preflightOf } from "./cors.ts";
import { refuse, toResponse } from "./respond.ts";
import type { Answer } from "./respond.ts";
import { requestIdOf, traceOf } from "./tracing.ts";

/** Answers a request; `isGone` tells whether its client has closed the connection, where the runtime can tell. */
export type Handler = (request: Request, isGone?: () => boolean) => Promise<Response>;

const mostInFlight = 20_000; // requests: more than wait for the ledger, since there are those whose body is still to come

/** The fetch handler of some routes under a base path. It answers every request and never rejects. */
export function handlerOf(route: Route, context: Context, basePath: string): Handler {
  const { secrets, faces, corsOrigins, inFlight, bodyBudget } = context;
  const pathOf = (url: string) => new URL(url).pathname.slice(basePath.length).replace(/\/+$/, "");

  /** Answers of faces have codes, the specification's have none. */
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
      isBodyRead: false,
      bodyReader: undefined,
    };
    try {
      const { answer, cause } = await answerTo(ctx);
      const { headers } = answer;
      headers["X-Request-Id"] = ctx.requestId;
      if (corsOrigins.length > 0) Object.assign(headers, corsHeaders(request, corsOrigins));
      const isBodyLeft = answer.error !== undefined &&
        (endsBody.has(answer.error) || !await discardBody(ctx, context));
      if (isBodyLeft) cancelLater(ctx);
      if (isBodyLeft || inFlight.isDraining()) headers.Connection = "close";
      try {
        logRequest(ctx, answer, cause, performance.now() - began, basePath, context);
      } catch {
        // The log may be an embedder's; what fails there is no reason to withhold an answer.
      }
      return toResponse(answer, ctx.method === "HEAD", context);
    } finally {
      bodyBudget.used -= ctx.bodyBytes;
      end();
    }
  };

  /** A refusal is answered as it says; of any other error the client learns what it may do, and no more. */
  async function answerTo(ctx: RequestContext): Promise<{ answer: Answer; cause?: unknown }> {
    const { request } = ctx;
    try {
      const isRefused = inFlight.isClosing() || inFlight.count() > mostInFlight;
      if (isRefused && !probes.has(pathOf(ctx.url))) throw inFlight.isClosing() ? stopping() : overloaded();
      return {
        answer: preflightOf(request, corsOrigins) ?? await route(ctx, context) ??
          refuse(unknownPath(), {}, isOfFace(ctx)),
      };
    } catch (error) {
      if (error instanceof Refusal) return { answer: refuse(error, {}, isOfFace(ctx)) };
      // Bun and Deno hand over what no URL can be read from.
      if (!URL.canParse(request.url)) return { answer: refuse(invalidTarget()) };
      const failure = failureOf(error);
      const refusal = failure === "retryable"
        ? databaseBusy()
        : failure === "unavailable"
        ? databaseAway()
        : internalError();
      return { answer: refuse(refusal, {}, isOfFace(ctx)), cause: error };
    }
  }
}

/** Refusals after which nothing more of a body is taken in: there is too much to do, or its client is too slow. */
const endsBody = new Set<Answer["error"]>(["overloaded", "timeout"]);

/** One line for a request, and its measures. */
function logRequest(
  ctx: RequestContext,
  { status, error }: Answer,
  cause: unknown,
  ms: number,
  basePath: string,
  { log, telemetry }: Context,
): void {
  const { request, requestId, route, logContext } = ctx;
  const method = methods.has(ctx.method) ? ctx.method : "other";
  const path = route === undefined ? "none" : route.slice(basePath.length) || "/";
  telemetry.requests(method, path, String(status));
  telemetry.requestSeconds(ms / 1000, method, path);
  log[levelOf(path, error)]("Request", {
    requestId,
    method,
    route: path,
    status,
    ms: Math.round(ms * 1000) / 1000,
    workspaceId: logContext.workspaceId,
    keyId: logContext.keyId,
    deployId: logContext.deployId,
    groupSize: logContext.groupSize,
    error,
    cause: cause === undefined ? undefined : describeError(cause),
    ...traceOf(request),
  });
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** What tells of a service that is too busy must not be refused because it is, nor fill its log. */
const probes = new Set(["/healthz", "/readyz", "/metrics"]);

function levelOf(path: string, error: Answer["error"]): LogLevel {
  if (error === "internal") return "error";
  if (error === "overloaded" || error === "unavailable") return "warn";
  return probes.has(path) ? "debug" : "info";
}
