// POST /v1/prompts and POST /v1/diagnosis: stores a record of what came of a prompt.
import { parse } from "../schema/parse.ts";
import { DiagnosisRequest } from "../schema/submits.ts";
import { admit } from "./admit.ts";
import { readAuthorized, readValidKey } from "./authorization.ts";
import { readText } from "./body.ts";
import type { Context, RequestContext } from "./context.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import { readDeployId } from "./query.ts";
import { toSubmitted } from "./record.ts";
import { created, quotaHeaders, refuseDecision } from "./respond.ts";
import type { Answer } from "./respond.ts";

export async function submitDiagnosis(ctx: RequestContext, context: Context): Promise<Answer> {
  const { request } = ctx;
  const { keyHash, workspaceId } = await readValidKey(ctx, context);
  const submit = await readAuthorized(ctx, context, keyHash, async () => {
    const deployId = readDeployId(ctx);
    const submitted = toSubmitted(parse(DiagnosisRequest, await readText(ctx, context)));
    return { deployId, ...submitted, idempotency: await readIdempotencyKey(request, deployId, submitted) };
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
