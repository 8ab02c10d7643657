// What a request asks for in its URL.
import { invalidDeployId } from "../common/errors.ts";
import type { DeploymentId } from "../common/ids.ts";
import type { RequestContext } from "./context.ts";
import { setId } from "./log-context.ts";

const longestDeployId = 128;

/** The parameters of a request's query, in order. */
export function readQuery({ url }: Request): URLSearchParams {
  const [, query = ""] = /\?([^#]*)/.exec(url) ?? [];
  return new URLSearchParams(query);
}

/** The deployment that a request names; refuses none, an empty one, several and one over 128 characters. */
export function readDeployId({ request, logContext }: RequestContext): DeploymentId {
  const [deployId = "", ...more] = readQuery(request).getAll("deployId");
  if (deployId === "" || more.length > 0 || isTooLong(deployId)) throw invalidDeployId();
  setId(logContext, deployId);
  return deployId as DeploymentId;
}

/** Most ids need not be counted by character: no text has more of them than UTF-16 units. */
const isTooLong = (text: string) => text.length > longestDeployId && [...text].length > longestDeployId;
