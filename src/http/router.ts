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

/**
 * The router writes to its argument, so it gets the context, not the request. Most URLs spell a path as its route does.
 * Those need neither parsing nor a search for their route, which are an eighth of a read's cost here.
 */
export function routeOf(router: RouterType): Route {
  const literal = literalRoutes(router);
  let origin = ""; // the last one that was valid

  return (ctx, context) => {
    const query = ctx.url.indexOf("?");
    if (query >= 0) ctx.url = ctx.url.slice(0, query);
    const pathStart = ctx.url.indexOf("/", ctx.url.indexOf("://") + 3);
    const path = ctx.url.slice(pathStart);
    const route = literal.get(`${ctx.method} ${path}`);
    const from = ctx.url.slice(0, pathStart);
    if (route === undefined || from !== origin && !URL.canParse(from)) return router.fetch(ctx, context);
    origin = from;
    ctx.route = path;
    return route(ctx, context);
  };
}

/** The routes without parameters, by method and path, unless another route comes first for them. */
function literalRoutes({ routes }: RouterType): Map<string, Route> {
  const literal = new Map<string, Route>();
  for (const route of routes) {
    const [method, , [handler], path = ""] = route;
    const first = routes.find(([other, pattern]) => (other === method || other === "ALL") && pattern.test(path));
    if (first === route && !/[:*]/.test(path)) literal.set(`${method} ${path}`, handler as unknown as Route);
  }
  return literal;
}
