// GET /v1/usage: what the key's workspace has used of its quota. It costs nothing.
import { invalidApiKey } from "../common/errors.ts";
import { readKeyHash } from "./authorization.ts";
import type { Asked, Context } from "./context.ts";
import { noteCaller } from "./notes.ts";
import { ok } from "./respond.ts";
import type { Answer } from "./respond.ts";

export async function readUsage({ request, notes }: Asked, context: Context): Promise<Answer> {
  const found = await context.ledger.readUsage(await readKeyHash(request, context));
  if (found === undefined) throw invalidApiKey();
  noteCaller(notes, found.caller);
  return ok(found.usage, {});
}
