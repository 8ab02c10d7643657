// GET /v1/prompts: the active prompt of a deployment. While a rollout is active, a client gets both versions and picks
// one per call, or sends a key by which the service picks, or gets the live one.
import { jsonText, stringify } from "../../common/json-text.ts";
import type { JsonText } from "../../common/json-text.ts";
import { bucketOf, isInRollout } from "../../common/rollout.ts";
import type { Served } from "../../ledger/admission.ts";
import { admitRead } from "./admit.ts";
import { headerOf, readKeyHash } from "../authorization.ts";
import type { Context, RequestContext } from "../context.ts";
import { isAmong, tagOf } from "../etag.ts";
import { readDeployId, readRolloutKey } from "../query.ts";
import { notModified, okText, quotaHeaders, refuseDecision } from "../respond.ts";
import type { Answer, HeaderValues } from "../respond.ts";
import { maxSentAtOnce } from "../stream.ts";

/** A read costs one request even if the client's copy is current. */
export async function readPrompt(ctx: RequestContext, context: Context): Promise<Answer> {
  const { request } = ctx;
  const keyHash = await readKeyHash(headerOf(request), context);
  let key: string | undefined;
  const decision = await admitRead(ctx, context, keyHash, () => {
    key = readRolloutKey(request);
    return readDeployId(ctx);
  });
  if (decision.outcome !== "read") return refuseDecision(decision, context.clock());
  const prompt = await pick(decision, request.headers.get("Accept-Rollout") === "1", key);
  const prepared = prepare(prompt), { body } = prepared;
  const tag = prepared.tag ??= await tagOf(prompt.text);
  const headers: HeaderValues = { ETag: tag, "Cache-Control": "private, no-cache", ...quotaHeaders(decision.quota) };
  // CORS adds no Vary to an existing one.
  if (decision.rollout) headers.Vary = "Accept-Rollout, Origin";
  return isAmong(tag, request) ? notModified(headers) : okText(body, headers);
}

/** Selects the live version, the candidate, or both. */
export async function pick(
  { prompt, rollout, audit }: Served,
  isBoth: boolean,
  key: string | undefined,
): Promise<JsonText> {
  if (!rollout || !isBoth && !key) return prompt;
  const { id, version, share, salt, prompt: candidate, texts } = rollout;
  if (isBoth) return texts.both ??= extend(prompt, { id, version, percent: share / 10, salt, prompt: candidate });
  const isCandidate = isInRollout(await bucketOf(audit.deployId!, salt, key!), share);
  return texts[isCandidate ? "candidate" : "base"] ??= extend(isCandidate ? candidate : prompt, { id, isCandidate });
}

const extend = ({ text }: JsonText, rollout: object): JsonText =>
  jsonText(`${text.slice(0, -1)},"rollout":${stringify(rollout)}}`);

type Prepared = { body: string | Uint8Array; tag?: string };

// The ledger returns the same object while a prompt does not change, so each prompt is hashed once, and a large one is
// encoded once. However many clients read it slowly, the service holds it once.
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
