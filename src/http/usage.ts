// GET /v1/usage: what the key's workspace has used of its quota. It costs nothing.
import { invalidApiKey } from "../errors.ts";
import { readKeyHash } from "./authorization.ts";
import type { Asked, Context } from "./context.ts";
import { ok } from "./respond.ts";

export async function readUsage({ request }: Asked, context: Context): Promise<Response> {
  const usage = await context.ledger.readUsage(await readKeyHash(request, context));
  if (usage === undefined) throw invalidApiKey();
  return ok(usage, {});
}
