// GET /v1/prompts: the active prompt of a deployment.
import { readAuthorized, readKeyHash } from "./authorization.ts";
import type { Context } from "./context.ts";
import { readDeployId } from "./query.ts";
import { ok, quotaHeaders, refuseVerdict } from "./respond.ts";

export async function readPrompt(request: Request, context: Context): Promise<Response> {
  const keyHash = await readKeyHash(request, context);
  const deployId = await readAuthorized(context, keyHash, () => readDeployId(request));
  const verdict = await context.ledger.admit({ operation: "read", keyHash, deployId });
  if (verdict.outcome !== "read") return refuseVerdict(verdict, context.clock());
  return ok(verdict.prompt, quotaHeaders(verdict.quota));
}
