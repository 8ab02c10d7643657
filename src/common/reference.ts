// References to deployments: `NAME@DEPLOYMENT`, the name of a prompt and that of a deployment of it.

export type Reference = { promptName: string; deploymentName: string };

/** Reads a reference; undefined for anything else, such as an id, which has no `@`. */
export function readReference(text: string): Reference | undefined {
  const at = text.indexOf("@");
  return at < 0 ? undefined : { promptName: text.slice(0, at), deploymentName: text.slice(at + 1) };
}
