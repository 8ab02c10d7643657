// MCP over HTTP as a face: each POST is one message. A client's permissions follow from its management token.
import { invalid, methodNotAllowed, Refusal, tooManyFailures } from "../common/errors.ts";
import { stringify } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { withTimeout } from "../common/timeout.ts";
import { readText, whileUnread } from "../http/body.ts";
import type { Context, RequestContext } from "../http/context.ts";
import { mcpPath } from "../http/face.ts";
import type { Face } from "../http/face.ts";
import { afterSpaces, notReady, unbuffered } from "../faces/long-answer.ts";
import { untilGone } from "../faces/long-work.ts";
import { tokenOf } from "../faces/management-access.ts";
import type { ManagementAccess, ManagementFace } from "../faces/management-access.ts";
import { ok, refuse, statusOf, streamed, toRefusal } from "../http/respond.ts";
import type { Answer, HeaderValues } from "../http/respond.ts";
import { createRouter } from "../http/router.ts";
import { checkBeside, checkOptions } from "../http/settings.ts";
import type { NoOptions } from "../http/settings.ts";
import { ownerOf, perform } from "../management/kernel/operation.ts";
import type { Caller } from "../management/kernel/operation.ts";
import { codes, errorResponse, faultOf, findFault, isFault, readMessage } from "./protocol.ts";
import type { Fault } from "./protocol.ts";
import { findMethod, respond } from "./server.ts";
import type { Session } from "./session.ts";

const identity = { path: mcpPath, name: "mcp()", needs: "management()" } as const;
const defaultQuietMs = 20_000;
const accepted = 202;

const nobodyCalls =
  "mcp() needs management({ adminToken }) or management({ tokens: true }) beside it: adminToken is undefined and " +
  "tokens is not true, so nobody can call it";

/**
 * The Model Context Protocol, at `/mcp`, for agents. It needs the face `management` beside it, whose tokens it accepts:
 * an agent has the permissions of its token's role.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", faces: [management({ tokens: true }), mcp()] });
 */
export function mcp(options: NoOptions = {}): Face & typeof identity {
  checkOptions("mcp", options, {});
  return mcpWith({});
}

/** Creates the face of `mcp()`. Responses begin after `quietMs` even if they are not ready. */
export function mcpWith({ quietMs = defaultQuietMs }: { quietMs?: number | undefined }): Face & typeof identity {
  return {
    ...identity,
    routes: [mcpPath],
    secrets: [],
    mount(basePath, faces) {
      checkBeside(identity, faces);
      const management = faces.find((face): face is ManagementFace => "access" in face);
      if (!management?.isOn) throw invalid(nobodyCalls);
      const router = createRouter(basePath);
      router.all(mcpPath, async (ctx: RequestContext, context: Context, access: ManagementAccess) => {
        try {
          return await answer(ctx, context, access, quietMs);
        } catch (error) {
          if (!(error instanceof Refusal)) ctx.logContext.failure = error;
          return refusalAnswer(toRefusal(error));
        }
      });
      return (host) => (ctx, context) => router.fetch(ctx, context, management.access(host));
    },
    describe: () => ({ tags: {}, methods: [], structs: [], responses: {} }),
  };
}

async function answer(
  ctx: RequestContext,
  context: Context,
  access: ManagementAccess,
  quietMs: number,
): Promise<Answer> {
  const { request, requestId, logContext } = ctx;
  requireOrigin(request, context.corsOrigins);
  if (ctx.method !== "POST") return refusalAnswer(methodNotAllowed(), { Allow: "POST" });
  const authenticated = await whileUnread(ctx, context, () => access.gate(tokenOf(request), access.store));
  if ("retryAfter" in authenticated) {
    return refusalAnswer(tooManyFailures(), { "Retry-After": String(authenticated.retryAfter) });
  }
  const caller: Caller = { ...authenticated.caller, source: "mcp", requestId };
  if (caller.tokenId !== undefined) logContext.tokenId = caller.tokenId;
  const message = readMessage(await readText(ctx, context, ownerOf(caller)));
  if ("fault" in message) return faultAnswer(message.fault, message.id);
  const { id } = message;
  if (id === undefined) return { status: accepted, headers: {}, body: null };
  const fault = findFault(message, request.headers);
  if (fault !== undefined) return faultAnswer(fault, id);
  const method = findMethod(message);
  if (isFault(method)) return faultAnswer(method, id);
  let hasLeft = false;
  const session = openSession(ctx, access, caller, () => hasLeft);
  const response: Promise<unknown> = respond(method, { ...message, id }, session);
  const found = await withTimeout(quietMs, response, () => notReady);
  if (found !== notReady) return ok(found, {});
  const headers = { ...unbuffered(), "Content-Type": "application/json" };
  return streamed(afterSpaces(response, quietMs), headers, () => void (hasLeft = true));
}

/** Refuses pages of other sites: a browser sends their requests with the rights of its user's network. */
function requireOrigin({ headers }: Request, allowed: readonly string[]): void {
  const origin = headers.get("Origin");
  if (origin === null || allowed.includes("*") || allowed.includes(origin)) return;
  throw new Refusal("forbidden", "This origin is not allowed. CORS_ORIGIN lists those that are", "origin_not_allowed");
}

/** Opens a session. Long operations have their own queue, and stop when the client has left. */
function openSession(
  ctx: RequestContext,
  { store, longStore, longWork }: ManagementAccess,
  caller: Caller,
  hasLeft: () => boolean,
): Session {
  const isGone = () => hasLeft() || ctx.request.signal.aborted || ctx.isGone?.() === true;
  return {
    caller,
    async call(operation, input) {
      if (!operation.isLong) return await perform(operation, { ...store, caller }, { value: input });
      const leave = await longWork.enter(ownerOf(caller));
      const database = untilGone(longStore.database, isGone);
      return await perform(operation, { ...longStore, database, caller }, { value: input }).finally(leave);
    },
    refusalOf(error) {
      if (!(error instanceof Refusal)) ctx.logContext.failure = error;
      return toRefusal(error);
    },
  };
}

/** Response to a message that is not served. */
function faultAnswer(fault: Fault, id?: JsonText): Answer {
  const { kind } = fault, answer = ok(errorResponse(fault, id), {});
  return kind === undefined ? answer : { ...answer, status: statusOf[kind], error: kind };
}

/** Response to a request whose message was not read. */
const refusalAnswer = (refusal: Refusal, headers: HeaderValues = {}): Answer => ({
  ...refuse(refusal, headers),
  body: stringify(errorResponse(requestFault(refusal))),
});

/** Fault of a refused request: an invalid request, or an internal error. */
function requestFault(refusal: Refusal): Fault {
  const fault = faultOf(refusal);
  return fault.code === codes.internalError ? fault : { ...fault, code: codes.invalidRequest };
}
