// GET /v1/prompts: the active prompt of a deployment.
import type { JsonText } from "../common/json-text.ts";
import { admitRead } from "./admit.ts";
import { headerOf, readKeyHash } from "./authorization.ts";
import type { Context, RequestContext } from "./context.ts";
import { isAmong, tagOf } from "./etag.ts";
import { readDeployId } from "./query.ts";
import { notModified, okText, quotaHeaders, refuseDecision } from "./respond.ts";
import type { Answer } from "./respond.ts";
import { maxSentAtOnce } from "./stream.ts";

/** A read costs one request even if the client's copy is current. */
export async function readPrompt(ctx: RequestContext, context: Context): Promise<Answer> {
  const { request } = ctx;
  const keyHash = await readKeyHash(headerOf(request), context);
  const decision = await admitRead(ctx, context, keyHash, () => readDeployId(ctx));
  if (decision.outcome !== "read") return refuseDecision(decision, context.clock());
  const prepared = prepare(decision.prompt), { body } = prepared;
  const tag = prepared.tag ??= await tagOf(decision.prompt.text);
  const headers = { ETag: tag, "Cache-Control": "private, no-cache", ...quotaHeaders(decision.quota) };
  return isAmong(tag, request) ? notModified(headers) : okText(body, headers);
}

type Prepared = { body: string | Uint8Array; tag?: string };

// The ledger returns the same object while a prompt does not change, so each prompt is hashed once, and a large one is encoded
// once. However many clients read it slowly, the service holds it once.
const known = new WeakMap<JsonText, Prepared>();

function prepare(prompt: JsonText): Prepared {
  let prepared = known.get(prompt);
  if (prepared === undefined) {
    const { text } = prompt;
    prepared = { body: text.length < maxSentAtOnce ? text : new TextEncoder().encode(text) };
    known.set(prompt, prepared);
  }
  return prepared;
}
