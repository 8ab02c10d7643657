// GET /v1/usage: what the key's workspace has used of its quota. It costs nothing.
import { invalidApiKey } from "../common/errors.ts";
import { readKeyHash } from "./authorization.ts";
import type { Context, RequestContext } from "./context.ts";
import { setCaller } from "./log-context.ts";
import { ok } from "./respond.ts";
import type { Answer } from "./respond.ts";

export async function readUsage({ request, logContext }: RequestContext, context: Context): Promise<Answer> {
  const keyHash = await readKeyHash(request, context);
  const found = await context.ledger.readUsage(keyHash, context.validKeys.get(keyHash));
  if (found === undefined) throw invalidApiKey();
  setCaller(logContext, found.caller);
  return ok(found.usage, {});
}
