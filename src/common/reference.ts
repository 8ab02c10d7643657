// References to deployments: `NAME@DEPLOYMENT`, the name of a prompt and that of a deployment of it.
import type { DeploymentId } from "./ids.ts";

/** Name of a deployment in requests: its id or a reference. */
export type DeploymentRef = DeploymentId | `${string}@${string}`;

type Reference = { promptName: string; deploymentName: string };

/** Reads a reference; undefined for anything else, such as an id, which has no `@`. */
export function readReference(ref: string): Reference | undefined {
  const at = ref.indexOf("@");
  return at < 0 ? undefined : { promptName: ref.slice(0, at), deploymentName: ref.slice(at + 1) };
}
