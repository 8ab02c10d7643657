// GET /: the service's name, version and link to its description if it has one, as JSON. Clients that accept HTML get
// the console if it is on, or else a page.
import { version } from "../../common/version.ts";
import type { Context, RequestContext } from "../context.ts";
import { consolePath, openApiPath } from "../face.ts";
import { ok, text } from "../respond.ts";
import type { Answer } from "../respond.ts";

const name = "promptledger";
const description = "Serves the prompts of LLM applications and records the outcome of each call";

/** The link is relative, because a host may strip the path that it mounts the service under. */
export async function readRoot(ctx: RequestContext, context: Context): Promise<Answer> {
  const { url, headers } = ctx.request, { faces } = context;
  const openapi = faces.has(openApiPath)
    ? `${/[^/]*$/.exec(new URL(url).pathname)![0]}${openApiPath}`.replace(/^\//, "")
    : undefined;
  return headers.get("Accept")?.includes("text/html")
    ? await faces.get(consolePath)?.(ctx, context) ?? text(pageOf(openapi), "text/html; charset=utf-8")
    : ok({ name, version, description, openapi }, {});
}

// A path may contain single quotes, but `<` and `"` are percent-encoded.
const pageOf = (openapi = "") =>
  `<!doctype html><html lang="en"><title>${name}</title><p>${name} ${version}: ${description}.${
    openapi && ` <a href="${openapi}">OpenAPI</a>`
  }`;
