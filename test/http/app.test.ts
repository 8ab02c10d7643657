import { suite } from "uvu";
import * as assert from "uvu/assert";
import { newApiKey } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { createContext } from "../../src/service.ts";
import type { Ledger } from "../../src/store/ledger.ts";
import { appOf, createWorld, goodBody, noon, openMemory, readAnswer } from "../helpers.ts";

const test = suite("routes");

for (const path of ["/v1", "/v1/prompt", "/v2/prompts", "/v1/prompts/extra", "/x/v1/prompts", "//v1//prompts"]) {
  test(`answers 404 to ${path}`, async () => {
    const world = await createWorld();
    const answer = await world.send(path);
    assert.equal([answer.status, answer.json], [404, { error: "Not found" }]);
  });
}

const wrongMethods: [method: string, path: string, allow: string][] = [
  ["PUT", "/v1/prompts", "GET, HEAD, POST"],
  ["DELETE", "/v1/prompts", "GET, HEAD, POST"],
  ["OPTIONS", "/v1/prompts", "GET, HEAD, POST"],
  ["PATCH", "/v1/prompts", "GET, HEAD, POST"],
  ["GET", "/v1/diagnosis", "POST"],
  ["HEAD", "/v1/diagnosis", "POST"],
  ["PATCH", "/v1/diagnosis", "POST"],
];

for (const [method, path, allow] of wrongMethods) {
  test(`answers 405 to ${method} ${path}, and says what is allowed`, async () => {
    const world = await createWorld();
    const answer = await world.send(`${path}?deployId=${world.deployId}`, { method });
    assert.is(answer.status, 405);
    assert.is(answer.headers.get("Allow"), allow);
    assert.is(answer.text, method === "HEAD" ? "" : '{"error":"Method not allowed"}');
  });
}

test("answers 500 without the cause when the store fails, and logs the cause with the request id", async () => {
  const logged: string[] = [];
  const log = createLog({ level: "info", format: "json", clock: () => noon, write: (line) => void logged.push(line) });
  const fail = () => Promise.reject(new Error("disk on fire at /var/lib"));
  const ledger: Ledger = { admit: fail, findCaller: fail, readUsage: fail, countWaiting: () => 0 };
  const fetch = appOf({ ...createContext(await openMemory(), { clock: () => noon, log }), ledger });
  const headers = { Authorization: `Bearer ${newApiKey()}` };
  const requests = [
    new Request("http://ledger.test/v1/prompts?deployId=d", { headers }),
    new Request("http://ledger.test/v1/prompts", { headers }),
    new Request("http://ledger.test/v1/diagnosis?deployId=d", {
      method: "POST",
      headers,
      body: JSON.stringify(goodBody),
    }),
  ];
  for (const request of requests) {
    const answer = await readAnswer(await fetch(request));
    assert.equal([answer.status, answer.json], [500, { error: "Internal server error" }]);
    const event = JSON.parse(logged.pop()!);
    assert.is(event.requestId, answer.headers.get("X-Request-Id"));
    assert.equal([event.level, event.error], ["error", "internal"]);
    assert.is(event.cause, "Error: disk on fire at /var/lib");
    assert.not.ok(JSON.stringify(event).includes("pl_"));
  }
});

test.run();
