// GET /: the service's name, version and link to its description, as JSON, or as a page for clients that accept HTML.
import { version } from "../common/version.ts";
import type { RequestContext } from "./context.ts";
import { ok, text } from "./respond.ts";
import type { Answer } from "./respond.ts";

const name = "promptledger";
const description = "Serves the prompts of LLM applications, records what came of them, and keeps a ledger of both";

/** The link is relative, because a host may strip the path that it mounts the service under. */
// deno-lint-ignore require-await -- a handler returns a promise
export async function readRoot({ request }: RequestContext): Promise<Answer> {
  const { pathname } = new URL(request.url);
  const openapi = `${/[^/]*$/.exec(pathname)![0]}/openapi.json`.replace(/^\//, "");
  const isPage = request.headers.get("Accept")?.includes("text/html");
  return isPage ? text(pageOf(openapi), "text/html; charset=utf-8") : ok({ name, version, description, openapi }, {});
}

// A path may contain single quotes, but `<` and `"` are percent-encoded.
const pageOf = (openapi: string) =>
  `<!doctype html>
<html lang="en">
<title>${name} ${version}</title>
<p>${name} ${version}: ${description}.
<p><a href="${openapi}">Its API</a> (OpenAPI)
`;
