// Feedback from applications and browsers, as a face: on one record, or on many at once. It uses no quota.
import * as errors from "../../common/errors.ts";
import type { Counter } from "../../common/metrics.ts";
import { createRate } from "../../support/rate.ts";
import type { Rate } from "../../support/rate.ts";
import { failureOf } from "../../database/database.ts";
import { toRefusalOf } from "../feedback.ts";
import type { FeedbackResult, StoredFeedback } from "../feedback.ts";
import { targetOf } from "../feedback-state.ts";
import type { Target } from "../feedback-state.ts";
import type { Session } from "../feedback-sessions.ts";
import {
  feedbackAuthor,
  FeedbackBatch,
  FeedbackItem,
  feedbackName,
  FeedbackRequest,
  recordReference,
  toKept,
} from "../../schema/feedback.ts";
import { checkParameter, parse } from "../../schema/parse.ts";
import { check } from "../../schema/struct.ts";
import { readText } from "../../http/body.ts";
import type { Context, RequestContext } from "../../http/context.ts";
import type { Face, FaceHost } from "../../http/face.ts";
import { createBearers } from "./feedback-bearers.ts";
import type { Authenticate, Bearer } from "./feedback-bearers.ts";
import { createGroups } from "./feedback-groups.ts";
import type { OwnedPiece } from "./feedback-groups.ts";
import { describeFeedback, feedbackPaths } from "./feedback-openapi.ts";
import { createSessionSearch } from "./feedback-sessions.ts";
import type { FindSessions } from "./feedback-sessions.ts";
import { decodePart, readQuery } from "../../http/query.ts";
import { noContent, ok, refuse, statusOf, toRefusal } from "../../http/respond.ts";
import type { Answer, HeaderValues } from "../../http/respond.ts";
import { allowOnly, createRouter } from "../../http/router.ts";
import { checkBeside, checkOptions } from "../../http/settings.ts";
import type { Checks } from "../../http/settings.ts";

/** `ratePerMinute`: pieces of feedback per workspace, in each instance of the service. Default: 60,000. */
type FeedbackOptions = { ratePerMinute?: number | undefined };

const checks: Checks = {
  ratePerMinute: (value: unknown) =>
    Number.isSafeInteger(value) && Number(value) >= 1 ? undefined : "must be a positive integer",
};

const name = "feedback()";
const defaultRate = 60_000;
const maxBodyBytes = 65_536; // of feedback on one record
const maxSessions = 20; // in one request, since each is searched for

/** The state of the face in one service. */
type State = {
  /** Number of requests in flight: the face's own, and all of the service's. */
  inFlight: { own: number; all(): number };
  findSessions: FindSessions;
  give(piece: OwnedPiece): Promise<FeedbackResult>;
  rate: Rate;
  authenticate: Authenticate;
  count: Counter;
};

/**
 * Feedback on records, under the API keys of applications and under tokens that they create for browsers.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", faces: [feedback()] });
 */
export function feedback(options: FeedbackOptions = {}): Face & { readonly name: "feedback()" } {
  checkOptions("feedback", options, checks);
  const { ratePerMinute = defaultRate } = options;
  return {
    path: feedbackPaths.many,
    routes: Object.values(feedbackPaths),
    name,
    secrets: [],
    mount(basePath, faces) {
      checkBeside({ name }, faces);
      const router = createRouter(basePath);
      router
        .options(feedbackPaths.one, preflight)
        .put(feedbackPaths.one, giveOne)
        .delete(feedbackPaths.one, withdrawOne)
        .all(feedbackPaths.one, allowOnly("PUT, DELETE", true))
        .post(feedbackPaths.many, giveMany)
        .all(feedbackPaths.many, allowOnly("POST", true));
      return (host) => {
        const state = openState(host, ratePerMinute);
        return async (ctx, context) => {
          const { inFlight } = state;
          inFlight.all = context.inFlight.count;
          inFlight.own++;
          const answer = await router.fetch(ctx, context, state).catch((error: unknown) => {
            const refusal = toRefusal(error);
            if (refusal !== error) ctx.logContext.failure = error;
            return refuse(refusal, retryHeaders(refusal), true);
          }).finally(() => inFlight.own--);
          if (answer !== undefined) Object.assign(answer.headers, anyOrigin);
          return answer;
        };
      };
    },
    describe: describeFeedback,
  };
}

function openState({ database, clock, metrics }: FaceHost, ratePerMinute: number): State {
  const countExpired = metrics.counter(
    "promptledger_feedback_expired_total",
    "Pieces of feedback that were dropped because no record came for them",
  );
  const inFlight = { own: 0, all: () => 0 };
  const give = createGroups({
    database,
    clock,
    hasOthers: () => inFlight.all() > inFlight.own,
    onExpired(pieces) {
      for (let count = 0; count < pieces; count++) countExpired();
    },
  });
  return {
    inFlight,
    findSessions: createSessionSearch({ database, clock }),
    give,
    rate: createRate(ratePerMinute, clock),
    authenticate: createBearers(database, clock),
    count: metrics.counter(
      "promptledger_feedback_total",
      "Pieces of feedback: stored, waiting for their record, unchanged, withdrawn or refused",
      ["outcome"],
      ["stored", "waiting", "unchanged", "withdrawn", "refused"],
    ),
  };
}

// Safe for any origin, as tokens are not sent automatically, unlike cookies.
const anyOrigin: HeaderValues = { "Access-Control-Allow-Origin": "*" };

// deno-lint-ignore require-await -- a handler returns a promise
async function preflight(): Promise<Answer> {
  return noContent({
    "Access-Control-Allow-Methods": "PUT, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Max-Age": "7200",
  });
}

const retryHeaders = ({ kind }: errors.Refusal): HeaderValues => kind === "rate_limited" ? { "Retry-After": "60" } : {};

async function giveOne(ctx: RequestContext, context: Context, state: State): Promise<Answer> {
  const bearer = await state.authenticate(ctx, context);
  const { record, name } = readTarget(ctx, bearer);
  const { bodyLimit } = context;
  const bounded = { ...context, bodyLimit: { ...bodyLimit, bytes: Math.min(bodyLimit.bytes, maxBodyBytes) } };
  const { value } = parse(FeedbackRequest, await readText(ctx, bounded, bearer.workspaceId));
  return await answerOne(state, bearer, { record, name, ...value });
}

async function withdrawOne(ctx: RequestContext, context: Context, state: State): Promise<Answer> {
  const bearer = await state.authenticate(ctx, context);
  const { record, name } = readTarget(ctx, bearer);
  const author = readQuery(ctx.request).get("author") ?? undefined;
  if (author !== undefined) checkParameter("author", feedbackAuthor, author, "Parameter author");
  return await answerOne(state, bearer, { record, name, author, value: null });
}

/** The record and the name in the path, which a token for feedback must permit. */
function readTarget({ params }: RequestContext, { grant }: Bearer): { record: string; name: string } {
  const record = checkParameter("record", recordReference, decodePart(params.id!), "The record in the path");
  const name = checkParameter("name", feedbackName, decodePart(params.name!), "The name in the path");
  if (grant !== undefined && record !== grant.record) throw errors.feedbackTokenForOthers("this record");
  if (grant !== undefined && !grant.names.includes(name)) throw errors.feedbackTokenForOthers("this name");
  return { record, name };
}

async function answerOne(
  state: State,
  bearer: Bearer,
  { record, ...item }: FeedbackItem & { record: string },
): Promise<Answer> {
  takeRate(state, bearer, 1);
  const piece = toPiece(bearer, await targetOf(record), item);
  const { recordId, isChanged, givenAt } = await give(state, piece);
  const { name, author } = piece;
  return ok({ recordId, name, author, isChanged, givenAt }, {});
}

async function giveMany(ctx: RequestContext, context: Context, state: State): Promise<Answer> {
  const bearer = await state.authenticate(ctx, context);
  if (bearer.grant !== undefined) throw errors.feedbackTokenForOthers("many records");
  const { feedback: items } = parse(FeedbackBatch, await readText(ctx, context, bearer.workspaceId)).value;
  takeRate(state, bearer, items.length);
  const refusalOf = (error: unknown): errors.Refusal => {
    if (failureOf(error) === undefined && !(error instanceof errors.Refusal)) throw error;
    ctx.logContext.failure ??= error instanceof errors.Refusal ? undefined : error;
    return toRefusal(error);
  };
  const checked = items.map((item) => {
    try {
      return check(FeedbackItem, item);
    } catch (error) {
      return refusalOf(error);
    }
  });
  const targetOfSession = await findTargets(ctx, state, bearer, checked, refusalOf);
  // Their records are found in any order, and then the pieces are stored in theirs.
  const pieces = await Promise.all(checked.map(async (item) => {
    if (item instanceof errors.Refusal) return item;
    const target = item.record === undefined ? targetOfSession(item) : await targetOf(item.record);
    return target instanceof errors.Refusal ? target : toPiece(bearer, target, item);
  }));
  const results = await Promise.all(
    pieces.map(async (piece) => piece instanceof errors.Refusal ? piece : await give(state, piece).catch(refusalOf)),
  );
  const failed = results.find((result) => result instanceof errors.Refusal && unstored.has(result.kind));
  if (failed !== undefined && results.every((result) => result instanceof errors.Refusal)) throw failed;
  return ok({ results: results.map(toResult) }, {});
}

/** Refusals that are not about the feedback itself. If all items get one, the request fails as a whole. */
const unstored = new Set<errors.ErrorKind>(["internal", "overloaded", "unavailable"]);

/** Finds the newest records of the items' sessions, at most `maxSessions` of them. */
async function findTargets(
  ctx: RequestContext,
  { findSessions }: State,
  bearer: Bearer,
  items: (FeedbackItem | errors.Refusal)[],
  refusalOf: (error: unknown) => errors.Refusal,
): Promise<(item: FeedbackItem) => Target | errors.Refusal> {
  const sessions = new Map<string, Session>();
  for (const item of items) {
    if (item instanceof errors.Refusal || item.record !== undefined) continue;
    if (sessions.size < maxSessions) sessions.set(keyOfSession(item), sessionOf(item));
  }
  const found = await findSessions(ctx, bearer, [...sessions.values()]).catch(refusalOf);
  const targets = new Map(
    [...sessions.keys()].map((key, place) => [key, Array.isArray(found) ? found[place]! : found]),
  );
  return (item) => targets.get(keyOfSession(item)) ?? errors.tooManySessions(maxSessions);
}

/** The session that an item without a record is about. */
const sessionOf = ({ sessionId, deployId }: FeedbackItem): Session => ({ sessionId: sessionId!, deployId: deployId! });

const keyOfSession = ({ sessionId, deployId }: FeedbackItem): string => JSON.stringify([deployId, sessionId]);

const toResult = (result: StoredFeedback | errors.Refusal) =>
  result instanceof errors.Refusal
    ? {
      status: statusOf[result.kind],
      error: result.message,
      code: result.code,
      field: result.field,
      expected: result.expected,
    }
    : { status: statusOf.ok, recordId: result.recordId, isChanged: result.isChanged };

function takeRate({ rate }: State, { workspaceId }: Bearer, count: number): void {
  if (!rate.take(workspaceId, count)) throw errors.tooMuchFeedback();
}

/** Feedback in the form in which it is stored. */
function toPiece(
  { keyHash, workspaceId, grant }: Bearer,
  target: Target,
  { name, value, comment = "", author, source = "user" }: Omit<FeedbackItem, "record">,
): OwnedPiece {
  if (grant !== undefined && author !== undefined && author !== grant.author) {
    throw errors.feedbackTokenForOthers("this author");
  }
  return {
    giver: { keyHash },
    workspaceId,
    target,
    name,
    author: (grant?.author ?? author ?? "").toWellFormed(),
    value: value === null ? undefined : toKept(value),
    comment: comment.toWellFormed(),
    // Feedback from a browser always comes from its user.
    source: grant === undefined ? source : "user",
  };
}

/** Stores a piece. Throws a refusal if it was not stored. */
async function give({ give, count }: State, piece: OwnedPiece): Promise<StoredFeedback> {
  const result = await give(piece);
  if (result.refusal !== undefined) {
    count("refused");
    throw toRefusalOf(result, piece);
  }
  const { isChanged, recordId } = result;
  count(!isChanged ? "unchanged" : piece.value === undefined ? "withdrawn" : recordId === null ? "waiting" : "stored");
  return result;
}
