// GET /v1/prompts: the active prompt of a deployment.
import { sha256 } from "../common/ids.ts";
import type { JsonText } from "../common/json-text.ts";
import { admit } from "./admit.ts";
import { readAuthorized, readKeyHash } from "./authorization.ts";
import type { Context, RequestContext } from "./context.ts";
import { readDeployId } from "./query.ts";
import { notModified, ok, quotaHeaders, refuseDecision } from "./respond.ts";
import type { Answer } from "./respond.ts";

/** A read costs one request even if the client's copy is current. */
export async function readPrompt(ctx: RequestContext, context: Context): Promise<Answer> {
  const { request } = ctx;
  const keyHash = await readKeyHash(request, context);
  const deployId = await readAuthorized(ctx, context, keyHash, () => readDeployId(ctx));
  const workspaceId = context.validKeys.get(keyHash);
  const decision = await admit(ctx, context, {
    operation: "read",
    keyHash,
    workspaceId,
    deployId,
    isGone: ctx.isGone,
  });
  if (decision.outcome !== "read") return refuseDecision(decision, context.clock());
  const tag = tags.get(decision.prompt) ?? await makeTag(decision.prompt);
  const headers = { ETag: tag, "Cache-Control": "private, no-cache", ...quotaHeaders(decision.quota) };
  const known = request.headers.get("If-None-Match");
  return known !== null && isAmong(tag, known) ? notModified(headers) : ok(decision.prompt, headers);
}

// The ledger returns the same object while a prompt does not change, so each prompt is hashed once.
const tags = new WeakMap<JsonText, string>();

/** Makes a strong entity tag from the hash of the prompt's text. */
async function makeTag(prompt: JsonText): Promise<string> {
  const tag = `"${(await sha256(prompt.text)).slice(0, 32)}"`;
  tags.set(prompt, tag);
  return tag;
}

/** Whether an If-None-Match header names a tag, which a proxy may have weakened. */
const isAmong = (tag: string, header: string): boolean =>
  header.trim() === "*" || header.split(",").some((known) => known.trim().replace(/^W\//, "") === tag);
