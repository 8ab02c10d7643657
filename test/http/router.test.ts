// Most routes are found by the text of their path. That must make no difference to what the router finds.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Context, RequestContext, Route } from "../../src/http/context.ts";
import { addReads, allowOnly, createRouter, routeOf } from "../../src/http/router.ts";

const test = suite("router");

const named = (name: string): Route => () => Promise.resolve({ status: 200, headers: {}, body: name });

function createRoutes() {
  const router = createRouter("/llm").get("/call", named("call")).all("/call", allowOnly("GET"));
  router.all("/guarded", named("guard"));
  addReads(router, { "/": named("root"), "/guarded": named("guarded"), "/things/:id": named("thing") });
  return router.all("/face/*", named("face"));
}

const origins = ["http://a.test", "http://A.test:80", "https://b.test:8443", "http://[::1]:1", "http://a.test"];
const paths = [
  ...[
    "/llm",
    "/llm/",
    "/llm//",
    "/llm/call",
    "/llm/call/",
    "/llm//call",
    "/llm/./call",
    "/llm/x/../call",
    "/llm/c%61ll",
  ],
  ...[
    "/llm/call#part",
    "/call",
    "/LLM/call",
    "/llm/guarded",
    "/llm/things/1",
    "/llm/things/:id",
    "/llm/face/x",
    "/llm/face/*",
  ],
];
const invalid = ["http://a b", "http://a:99999", "http://1.2.3.999", "http://", "a.test"];

/** The body and the pattern of the route that is found, or the name of the error. */
async function find(route: (ctx: RequestContext) => Promise<unknown>, method: string, url: string) {
  const ctx = { method, url } as RequestContext;
  try {
    return { answer: await route(ctx), route: ctx.route };
  } catch (error) {
    return (error as Error).name;
  }
}

test("finds what the router finds, however a URL spells a path", async () => {
  const context = {} as Context;
  const route = routeOf(createRoutes());
  const router = createRoutes();
  for (const origin of [...origins, ...invalid]) {
    for (const path of paths) {
      for (const method of ["GET", "HEAD", "POST", "ALL"]) {
        for (const query of ["", "?", "?a=/llm/call?b", "?a#c"]) {
          const url = `${origin}${path}${query}`;
          const found = await find((ctx) => route(ctx, context), method, url);
          assert.equal(found, await find((ctx) => router.fetch(ctx, context), method, url), `${method} ${url}`);
        }
      }
    }
  }
});

test.run();
