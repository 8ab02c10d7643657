// Every path of a service: those that it describes, those of its console, and one that it does not have.
import { pages } from "../../src/console/pages.ts";
import type { OpenApi } from "./openapi-contract.ts";

/** The paths, with a word in the place of parameters, from the text of the description. */
export function pathsOf(description: string): string[] {
  const described = Object.keys((JSON.parse(description) as OpenApi).paths);
  const ofConsole = [...pages.map(({ path }) => path), "/sign-in", "/sign-out", "/continue", "", "/a/none.css"];
  const all = [...described, ...ofConsole.map((path) => `/console${path}`), "/nowhere"];
  return [...new Set(all.map((path) => path.replace(/{\w+}|:\w+/g, "none")))];
}
