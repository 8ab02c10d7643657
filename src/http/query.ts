// What a request asks for in its URL.
import { invalidDeployId } from "../errors.ts";

const longestDeployId = 128;

/** The deployment that a request names; refuses none, an empty one, several and one over 128 characters. */
export function readDeployId(request: Request): string {
  const [, query = ""] = /\?([^#]*)/.exec(request.url) ?? [];
  const [deployId = "", ...more] = new URLSearchParams(query).getAll("deployId");
  if (deployId === "" || more.length > 0 || [...deployId].length > longestDeployId) throw invalidDeployId();
  return deployId;
}
