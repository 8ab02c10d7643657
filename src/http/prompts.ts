// GET /v1/prompts: the active prompt of a deployment.
import type { JsonText } from "../common/json-text.ts";
import { admitRead } from "./admit.ts";
import { headerOf, readKeyHash } from "./authorization.ts";
import type { Context, RequestContext } from "./context.ts";
import { isAmong, tagOf } from "./etag.ts";
import { readDeployId } from "./query.ts";
import { notModified, ok, quotaHeaders, refuseDecision } from "./respond.ts";
import type { Answer } from "./respond.ts";

/** A read costs one request even if the client's copy is current. */
export async function readPrompt(ctx: RequestContext, context: Context): Promise<Answer> {
  const { request } = ctx;
  const keyHash = await readKeyHash(headerOf(request), context);
  const decision = await admitRead(ctx, context, keyHash, () => readDeployId(ctx));
  if (decision.outcome !== "read") return refuseDecision(decision, context.clock());
  const tag = tags.get(decision.prompt) ?? await makeTag(decision.prompt);
  const headers = { ETag: tag, "Cache-Control": "private, no-cache", ...quotaHeaders(decision.quota) };
  return isAmong(tag, request) ? notModified(headers) : ok(decision.prompt, headers);
}

// The ledger returns the same object while a prompt does not change, so each prompt is hashed once.
const tags = new WeakMap<JsonText, string>();

async function makeTag(prompt: JsonText): Promise<string> {
  const tag = await tagOf(prompt.text);
  tags.set(prompt, tag);
  return tag;
}
