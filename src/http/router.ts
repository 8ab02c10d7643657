// Routes by path and method. The only importer of itty-router.
import { Router } from "itty-router";
import type { RouterType } from "itty-router";
import { methodNotAllowed } from "../common/errors.ts";
import type { Route } from "./context.ts";
import { refuse } from "./respond.ts";

export type { RouterType };

export const createRouter = (basePath: string): RouterType => Router({ base: basePath });

/** Adds routes for GET and HEAD. These paths allow no other method. */
export function addReads(router: RouterType, reads: Record<string, Route>): void {
  for (const [path, read] of Object.entries(reads)) {
    router.get(path, read).head(path, read).all(path, allowOnly("GET, HEAD"));
  }
}

/** Refuses every other method. */
export const allowOnly = (methods: string, hasCode = false): Route => () =>
  Promise.resolve(refuse(methodNotAllowed(), { Allow: methods }, hasCode));

/** The router writes to its argument. The request is not ours to write to, so the router gets its context. */
export const routeOf = (router: RouterType): Route => (ctx, context) => {
  ctx.url = ctx.url.replace(/\?.*/s, "");
  return router.fetch(ctx, context);
};
