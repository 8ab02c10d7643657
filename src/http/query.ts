// What a request asks for in its URL.
import { invalidDeployId } from "../common/errors.ts";
import type { Asked } from "./context.ts";
import { noteId } from "./notes.ts";

const longestDeployId = 128;

/** The parameters of a request's query, in order. */
export function readQuery({ url }: Request): URLSearchParams {
  const [, query = ""] = /\?([^#]*)/.exec(url) ?? [];
  return new URLSearchParams(query);
}

/** The deployment that a request names; refuses none, an empty one, several and one over 128 characters. */
export function readDeployId({ request, notes }: Asked): string {
  const [deployId = "", ...more] = readQuery(request).getAll("deployId");
  if (deployId === "" || more.length > 0 || isTooLong(deployId)) throw invalidDeployId();
  noteId(notes, deployId);
  return deployId;
}

/** Most ids need not be counted by character: no text has more of them than UTF-16 units. */
const isTooLong = (text: string) => text.length > longestDeployId && [...text].length > longestDeployId;
