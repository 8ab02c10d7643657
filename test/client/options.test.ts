// The options of a client, and what it sends because of them.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClientOn } from "../../src/client/client.ts";
import { PromptLedgerError } from "../../src/client/errors.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import { hostRuntime } from "../../src/client/runtime.ts";
import { currentRuntime } from "../runtimes.ts";
import { createClock } from "./stage.ts";

const test = suite(`client options on ${currentRuntime}`);

/** The first request of a client with these options. */
async function requestOf(options: ClientOptions, env: Record<string, string> = {}, hasTimers = true): Promise<Request> {
  const { runtime } = createClock(0);
  return await new Promise<Request>((resolve) => {
    const fetch = (request: Request) => {
      resolve(request);
      return Promise.resolve(new Response("{}", { status: 400 }));
    };
    const client = createClientOn({ ...runtime, hasTimers, env: (name) => env[name] }, { fetch, ...options });
    client.on("error", () => {});
    client.prompt("a/b@c d").catch(() => {});
  });
}

const urlOf = async (url: string) => (await requestOf({ url, apiKey: "pl_1" })).url;

test("the url may have a path, a slash at its end and /v1", async () => {
  const path = "/v1/prompts?deployId=a%2Fb%40c%20d";
  for (const url of ["https://x.test", "https://x.test/", "https://x.test/v1", "https://x.test/v1/"]) {
    assert.is(await urlOf(url), `https://x.test${path}`);
  }
  assert.is(await urlOf("http://x.test:8787/llm/"), `http://x.test:8787/llm${path}`);
});

test("url and key come from the environment unless given", async () => {
  const env = { PROMPTLEDGER_URL: "https://env.test", PROMPTLEDGER_API_KEY: "pl_env\n" };
  const { url, headers } = await requestOf({}, env);
  assert.equal([new URL(url).host, headers.get("Authorization")], ["env.test", "Bearer pl_env"]);
  const given = await requestOf({ url: "https://given.test", apiKey: "pl_given" }, env);
  assert.equal([new URL(given.url).host, given.headers.get("Authorization")], ["given.test", "Bearer pl_given"]);
});

test("with a fetch no url is needed, and the host that stands for one cannot be reached", async () => {
  assert.is(new URL((await requestOf({ apiKey: "pl_1" })).url).host, "promptledger.invalid");
});

test("without a key no Authorization is sent, for a server in between that adds it", async () => {
  const { headers } = await requestOf({ apiKey: null });
  assert.is(headers.get("Authorization"), null);
});

test("a redirect is not followed, and nothing is cached in between", async () => {
  const { redirect, cache } = await requestOf({ apiKey: "pl_1" });
  assert.is(redirect, "manual");
  // Not every runtime has it.
  assert.ok([undefined, "no-store", "default"].includes(cache));
  if (currentRuntime === "Node") {
    assert.is(cache, "no-store");
    assert.is((await requestOf({ apiKey: "pl_1" }, {}, false)).cache, "default");
  }
});

const wantsUrl = "Give url (http(s), no credentials or query), or set PROMPTLEDGER_URL";
const wantsKey = "Give apiKey (no spaces), or set PROMPTLEDGER_API_KEY";

const wrong: [name: string, options: ClientOptions, message: string][] = [
  ["no url", { apiKey: "pl_1" }, wantsUrl],
  ["no key", { url: "https://x.test" }, wantsKey],
  ["an empty key", { url: "https://x.test", apiKey: " " }, wantsKey],
  ["a key that no header can hold", { url: "https://x.test", apiKey: "pl_1\npl_2" }, wantsKey],
  ["a url of another kind", { url: "file:ledger.db", apiKey: "pl_1" }, wantsUrl],
  ["a url with a user and a password", { url: "https://me:secret@x.test", apiKey: "pl_1" }, wantsUrl],
  ["a url with a query", { url: "https://x.test/?token=secret", apiKey: "pl_1" }, wantsUrl],
  ["a negative number", { url: "https://x.test", apiKey: "pl_1", maxAge: -1 }, "maxAge must be at least 0"],
  [
    "no number",
    { url: "https://x.test", apiKey: "pl_1", readTimeout: NaN },
    "readTimeout must be at least 0",
  ],
];

for (const [name, options, message] of wrong) {
  test(`${name} is refused when the client is made`, () => {
    assert.throws(() => createClientOn(createClock(0).runtime, options), (error: unknown) => {
      assert.instance(error, PromptLedgerError);
      const { code, message: said } = error as PromptLedgerError;
      assert.equal([code, said], ["invalid_argument", message]);
      return true;
    });
  });
}

test("a time that no timer can hold is shortened, and does not end at once", () => {
  const { setTimeout } = globalThis;
  const delays: unknown[] = [];
  Object.assign(globalThis, { setTimeout: (_: unknown, ms: number) => delays.push(ms) });
  try {
    for (const ms of [1_000, 2 ** 31, Infinity]) hostRuntime.startTimer(() => {}, ms, false);
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
  assert.equal(delays, [1_000, 2e9, 2e9]);
});

test("a client that nobody asks starts nothing", () => {
  const { runtime, timers } = createClock(0);
  createClientOn(runtime, { url: "https://x.test", apiKey: "pl_1" });
  assert.equal(timers(), { held: 0, others: 0 });
});

test("a refused key that is a management token is called one", async () => {
  const messageOf = async (apiKey: string | null, error: string, status: number) => {
    const fetch = () => Promise.resolve(Response.json({ error }, { status }));
    const client = createClientOn(createClock(0).runtime, { apiKey, fetch });
    client.on("error", () => {});
    return await client.prompt("a@b").then(() => "", ({ message }: Error) => message);
  };
  assert.is(await messageOf("plm_1", "Invalid API key", 401), "Invalid API key: this is a management token");
  assert.is(await messageOf("pl_1", "Invalid API key", 401), "Invalid API key");
  assert.is(await messageOf(null, "No API key provided", 401), "No API key provided");
  const missing = "Deploy not found or not accessible";
  assert.is(await messageOf("plm_1", missing, 404), missing);
});

test("losses that nobody listens for are warned of once", async () => {
  const { warn } = console;
  const lines: string[] = [];
  console.warn = (...texts) => void lines.push(texts.join(" "));
  try {
    const fetch = () => Promise.resolve(new Response('{"error":"Invalid API key"}', { status: 401 }));
    const client = createClientOn(createClock(0).runtime, { apiKey: "pl_1", fetch });
    for (const name of ["a@b", "c@d"]) await client.prompt(name, { fallback: { messages: [] } });
    assert.equal(lines, ["promptledger: Invalid API key"]);
  } finally {
    console.warn = warn;
  }
});

test.run();
