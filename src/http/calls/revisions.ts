// GET /v1/revisions: the live version of each deployment, by which a client skips prompts that have not changed. It
// costs nothing. It is for keys that may read: an application that only submits needs no list of deployments.
import { readForbidden } from "../../common/errors.ts";
import { jsonText } from "../../common/json-text.ts";
import { checkKey } from "./admit.ts";
import type { Context, RequestContext } from "../context.ts";
import { isAmong, tagOf } from "../etag.ts";
import { notModified, ok } from "../respond.ts";
import type { Answer } from "../respond.ts";

export async function readRevisions(ctx: RequestContext, context: Context): Promise<Answer> {
  const { revisions } = await checkKey(ctx, context, "revisions");
  if (revisions === null) throw readForbidden();
  const tag = await tagOf(revisions);
  const headers = { ETag: tag, "Cache-Control": "private, no-cache" };
  return isAmong(tag, ctx.request) ? notModified(headers) : ok({ deployments: jsonText(revisions) }, headers);
}
