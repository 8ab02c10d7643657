// POST /v1/diagnoses: up to 500 records in one request. Each is decided as if it came alone, in order.
import { keyOfBatch, quotaExhausted, Refusal } from "../../common/errors.ts";
import { cutDeeper, isDeeper } from "../../common/json-scan.ts";
import { jsonText, readItems } from "../../common/json-text.ts";
import type { Quota, Recorded, Refused, Submit } from "../../ledger/admission.ts";
import { maxLevels, parse, parsePart, requireLevels } from "../../schema/parse.ts";
import { DiagnosisBatch, DiagnosisItem } from "../../schema/submits.ts";
import { admit, checkKey } from "./admit.ts";
import { readAuthorized, readValidKey } from "../authorization.ts";
import { readText } from "../body.ts";
import type { Context, RequestContext } from "../context.ts";
import { readIdempotencyKey, toIdempotencyKey } from "./idempotency.ts";
import { toSubmitted } from "./record.ts";
import { ok, quotaHeaders, refusalOf, statusOf, toRefusal } from "../respond.ts";
import type { Answer } from "../respond.ts";

type Item = Pick<Submit, "deployId" | "record" | "promptVersion" | "rollout" | "idempotency" | "run">;
type Result = { status: number; id: string } | { status: number; error: string; code: string };

const levelsAround = 2; // a record is in an array in an object

/**
 * Responds with the result of each record. If every record failed because of overload or the database, the request
 * fails as a whole.
 */
export async function submitDiagnoses(ctx: RequestContext, context: Context): Promise<Answer> {
  const { keyHash, workspaceId } = await readValidKey(ctx, context);
  if (readIdempotencyKey(ctx.request) !== undefined) throw keyOfBatch();
  const items = await readAuthorized(ctx, context, keyHash, async () => {
    const body = await readText(ctx, context, workspaceId);
    // A record that is nested too deep keeps one excess level, and is refused alone.
    const isDeep = isDeeper(body, levelsAround + maxLevels);
    const text = isDeep ? cutDeeper(body, levelsAround + maxLevels + 1) : body;
    const { value: { records }, members } = parse(DiagnosisBatch, text, Infinity);
    const texts = readItems(members.get("records")!);
    return await Promise.all(records.map((record, index) => readItem(record, texts[index]!, isDeep)));
  });
  const failures: unknown[] = [];
  const decide = (item: Item | Refusal) =>
    item instanceof Refusal
      ? item
      // The spread comes last: with it first, V8 would give each submit a hidden class of its own.
      : admit(ctx, context, { operation: "submit", keyHash, workspaceId, isGone: ctx.isGone, ...item })
        .catch((error: unknown) => {
          failures.push(error);
          return toRefusal(error);
        });
  setRuns(items);
  const decisions: (Recorded | Refused | Refusal)[] = [];
  for (const part of partsOf(items)) decisions.push(...await Promise.all(part.map(decide)));
  // A failure of unknown outcome takes precedence: only after that one may a record have been stored.
  const failure = failures.find((error) => toRefusal(error).kind === "internal") ?? failures[0];
  if (failures.length === items.length) throw failure;
  // A record over the quota is a failed part of the request too.
  const isUsedUp = (decision: object) => "outcome" in decision && decision.outcome === "quota_exhausted";
  ctx.logContext.failure = failure ?? (decisions.some(isUsedUp) ? quotaExhausted() : undefined);
  const quotas = decisions.flatMap((decision) => "quota" in decision ? [decision.quota] : []);
  // This may fail the request as a whole, so it runs only if no record is known to be stored.
  const quota = quotas.length > 0 ? quotas.reduce(latest) : await readQuota(ctx, context).catch((error: unknown) => {
    throw failure ?? error;
  });
  // All at once, because `ok` would look for JSON text in each result.
  return ok({ results: jsonText(JSON.stringify(decisions.map(toResult))) }, quotaHeaders(quota));
}

/**
 * Checks a record that was parsed with the batch. `text` is its JSON text. Returns a refusal if it is invalid, and a
 * promise only if it has an idempotency key, which must be hashed. `isDeep`: some record of the batch is nested too
 * deep.
 */
function readItem(source: object, text: string, isDeep: boolean): Item | Refusal | Promise<Item> {
  try {
    if (isDeep) requireLevels(text, "Record");
    const { value, members } = parsePart(DiagnosisItem, source, text);
    const { deployId, idempotencyKey: key } = value;
    members.delete("deployId");
    members.delete("idempotencyKey");
    const submitted = toSubmitted({ value, members });
    // All members are set from the start: items then have one hidden class.
    const item: Item = { deployId, ...submitted, idempotency: undefined, run: undefined };
    if (key === undefined) return item;
    return toIdempotencyKey(key, deployId, submitted).then((idempotency) => Object.assign(item, { idempotency }));
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/**
 * Gives consecutive records for one deployment, version and rollout the same object as their `run`. Only those may
 * share a batch, to keep the order of records.
 */
function setRuns(items: (Item | Refusal)[]): void {
  let last: Item | undefined;
  for (const item of items) {
    if (item instanceof Refusal) continue;
    const isLike = item.deployId === last?.deployId && item.promptVersion === last.promptVersion &&
      item.rollout === last.rollout &&
      item.idempotency === undefined && last.idempotency === undefined;
    item.run = isLike ? last?.run : {};
    last = item;
  }
}

/** Splits records before a repeated idempotency key, which would wait for the first while later records got ahead. */
function partsOf<I extends Item | Refusal>(items: I[]): I[][] {
  let part: I[] = [], keys = new Set<string>();
  const parts = [part];
  for (const item of items) {
    const key = item instanceof Refusal ? undefined : item.idempotency?.key;
    if (key !== undefined && keys.has(key)) {
      parts.push(part = []);
      keys = new Set();
    }
    if (key !== undefined) keys.add(key);
    part.push(item);
  }
  return parts;
}

function toResult(decision: Recorded | Refused | Refusal): Result {
  if ("recordId" in decision) return { status: statusOf.created, id: decision.recordId };
  const { kind, code, message } = decision instanceof Refusal ? decision : refusalOf(decision);
  return { status: statusOf[kind], error: message, code };
}

/** The quota of the later of two decisions. */
const latest = (one: Quota, other: Quota): Quota =>
  (other.resetsAt - one.resetsAt || other.used - one.used) < 0 ? one : other;

async function readQuota(ctx: RequestContext, context: Context): Promise<Quota> {
  const { limit, used, resetTime } = (await checkKey(ctx, context, "check")).usage;
  return { limit, used, resetsAt: 1000 * resetTime, upgradeUrl: null };
}
