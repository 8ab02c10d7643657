// Reads the query of a request.
import { invalidDeployId } from "../common/errors.ts";
import type { DeploymentId } from "../common/ids.ts";
import type { RequestContext } from "./context.ts";
import { setId } from "./log-context.ts";

const maxDeployIdLength = 128;

/** The parameters of a request's query, in order. */
export function readQuery({ url }: Request): URLSearchParams {
  const [, query = ""] = /\?([^#]*)/.exec(url) ?? [];
  return new URLSearchParams(query);
}

/** The `deployId` of a request. Refuses one that is missing, empty, repeated or longer than 128 characters. */
export function readDeployId({ request, logContext }: RequestContext): DeploymentId {
  const [deployId = "", ...more] = readQuery(request).getAll("deployId");
  if (deployId === "" || more.length > 0 || isTooLong(deployId)) throw invalidDeployId();
  setId(logContext, deployId);
  return deployId as DeploymentId;
}

/** Counts characters only if needed, because a text never has more of them than UTF-16 units. */
const isTooLong = (text: string) => text.length > maxDeployIdLength && [...text].length > maxDeployIdLength;
