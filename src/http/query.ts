// Reads the query of a request, and the parts of its path.
import { invalidDeployId, invalidRolloutKey } from "../common/errors.ts";
import { isDeployId, isRolloutKey } from "../schema/values.ts";
import type { DeploymentRef } from "../common/reference.ts";
import type { RequestContext } from "./context.ts";
import { setId } from "./log-context.ts";

/** The parameters of a request's query, in order. */
export function readQuery({ url }: Request): URLSearchParams {
  const [, query = ""] = /\?([^#]*)/.exec(url) ?? [];
  return new URLSearchParams(query);
}

/** Most queries are no more than an id, which needs no decoding. */
const plainQuery = /^[^?#]*\?deployId=([\w@.-]+)$/;

/** The `deployId` of a request. Refuses one that is missing, empty, repeated or too long. */
export function readDeployId({ request, logContext }: RequestContext): DeploymentRef {
  const [deployId = "", ...more] = plainQuery.exec(request.url)?.slice(1) ?? readQuery(request).getAll("deployId");
  if (more.length > 0 || !isDeployId(deployId)) throw invalidDeployId();
  setId(logContext, deployId);
  return deployId;
}

/** Key by which the service picks a version of a rollout. Refuses an empty, repeated or too long one. */
export function readRolloutKey(request: Request): string | undefined {
  const keys = plainQuery.test(request.url) ? [] : readQuery(request).getAll("key");
  if (keys.length > 1 || !keys.every(isRolloutKey)) throw invalidRolloutKey();
  return keys[0];
}

/** Decodes a part of a path. Returns a malformed encoding as it is: it matches no id. */
export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
