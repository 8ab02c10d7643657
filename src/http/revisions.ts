// GET /v1/revisions: which version of each deployment is live, so that a client need not read a prompt that has not changed.
// It costs nothing.
import { invalidApiKey } from "../common/errors.ts";
import { jsonText } from "../common/json-text.ts";
import { readKeyHash } from "./authorization.ts";
import type { Context, RequestContext } from "./context.ts";
import { isAmong, tagOf } from "./etag.ts";
import { setCaller } from "./log-context.ts";
import { notModified, ok } from "./respond.ts";
import type { Answer } from "./respond.ts";

export async function readRevisions({ request, logContext }: RequestContext, context: Context): Promise<Answer> {
  const keyHash = await readKeyHash(request, context);
  const found = await context.ledger.readRevisions(keyHash, context.validKeys.get(keyHash));
  if (found === undefined) throw invalidApiKey();
  setCaller(logContext, found.caller);
  const tag = await tagOf(found.deployments);
  const headers = { ETag: tag, "Cache-Control": "private, no-cache" };
  return isAmong(tag, request) ? notModified(headers) : ok({ deployments: jsonText(found.deployments) }, headers);
}
