// POST /v1/prompts and POST /v1/diagnosis: stores a record of what came of a prompt.
import { isSameNumber, stringifyMembers } from "../common/json-text.ts";
import { parse } from "../schema/parse.ts";
import { DiagnosisRequest } from "../schema/serving.ts";
import type { NewDiagnosis } from "../ledger/admission.ts";
import { admit } from "./admit.ts";
import { readAuthorized, readValidKey } from "./authorization.ts";
import { readText } from "./body.ts";
import type { Context, RequestContext } from "./context.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import { readDeployId } from "./query.ts";
import { created, quotaHeaders, refuseDecision } from "./respond.ts";
import type { Answer } from "./respond.ts";

export async function submitDiagnosis(ctx: RequestContext, context: Context): Promise<Answer> {
  const { request } = ctx;
  const { keyHash, workspaceId } = await readValidKey(ctx, context);
  const submit = await readAuthorized(ctx, context, keyHash, async () => {
    const deployId = readDeployId(ctx);
    const record = toRecord(await readText(ctx, context));
    return { deployId, record, idempotency: await readIdempotencyKey(request, deployId, record) };
  });
  const decision = await admit(ctx, context, {
    operation: "submit",
    keyHash,
    workspaceId,
    isGone: ctx.isGone,
    ...submit,
  });
  if (decision.outcome !== "recorded") return refuseDecision(decision, context.clock());
  const body = { id: decision.recordId, status: "success", message: "Diagnosis data recorded successfully" };
  return created(body, quotaHeaders(decision.quota));
}

/**
 * Stores scalars that the specification types as values (1.0 is the integer 1). Everything else is stored as the text that
 * was sent, even a number that a double would round.
 */
function toRecord(source: string): NewDiagnosis {
  const { value, members } = parse(DiagnosisRequest, source);
  const { sessionId, status, latency, startAt, endAt } = value;
  for (const [name, scalar] of Object.entries({ sessionId, status, latency, startAt, endAt })) {
    const isRounded = typeof scalar === "number" && !isSameNumber(members.get(name)!, scalar);
    if (scalar !== undefined && !isRounded) members.set(name, JSON.stringify(scalar));
  }
  const measures = [latency ?? null, ...findTokens(value.additional_properties ?? {})];
  return { sessionId, status, measures: measures.map(String).join(), document: stringifyMembers(members) };
}

/**
 * The numbers of prompt and completion tokens, null if absent. They are `prompt_tokens` and `completion_tokens` in the
 * additional properties, or in the first object there that has either.
 */
function findTokens(properties: Record<string, unknown>): [prompt: number | null, completion: number | null] {
  for (const holder of [properties, ...Object.values(properties)]) {
    if (typeof holder !== "object" || holder === null) continue;
    const { prompt_tokens: prompt, completion_tokens: completion } = holder as Record<string, unknown>;
    if (isTokens(prompt) || isTokens(completion)) {
      return [isTokens(prompt) ? prompt : null, isTokens(completion) ? completion : null];
    }
  }
  return [null, null];
}

const isTokens = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
