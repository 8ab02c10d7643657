// POST /v1/prompts and POST /v1/diagnosis: stores the outcome of a prompt as a record.
import { admitSubmit } from "./admit.ts";
import { readValidKey } from "../authorization.ts";
import { readText } from "../body.ts";
import type { Context, RequestContext } from "../context.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import { readDeployId } from "../query.ts";
import { created, quotaHeaders, refuseDecision } from "../respond.ts";
import type { Answer } from "../respond.ts";

export async function submitDiagnosis(ctx: RequestContext, context: Context): Promise<Answer> {
  const key = await readValidKey(ctx, context);
  const decision = await admitSubmit(ctx, context, key, async () => {
    const deployId = readDeployId(ctx);
    return {
      deployId,
      text: await readText(ctx, context, key.workspaceId),
      idempotencyKey: readIdempotencyKey(ctx.request),
    };
  });
  if (decision.outcome !== "recorded") return refuseDecision(decision, context.clock());
  const body = { id: decision.recordId, status: "success", message: "Diagnosis data recorded successfully" };
  return created(body, quotaHeaders(decision.quota));
}
