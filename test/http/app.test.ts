// The response and the log when something that the service depends on fails.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { serveDatabase } from "../../src/service/service.ts";
import { adminToken, bearer, captureLog, createTenant, goodBody, managementOf } from "../helpers.ts";
import { noon, openMemory, readAnswer, withManagement } from "../helpers.ts";

const test = suite("internal errors");

test("answers 500 and logs the cause while the clock throws, and then serves again", async () => {
  const { log, logged } = captureLog("error");
  const database = await openMemory();
  const tenant = await createTenant(managementOf(database));
  let isBroken = true;
  const clock = () => {
    if (isBroken) throw new Error("no time source");
    return noon;
  };
  const { fetch, countInFlight } = serveDatabase(database, { clock, log, faces: withManagement });
  const send = async (path: string, key = tenant.key, body?: object) => {
    const headers = bearer(key);
    const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    return readAnswer(await fetch(new Request(`http://ledger.test${path}`, init)));
  };
  const requests: [path: string, key?: string, body?: object][] = [
    [`/v1/prompts?deployId=${tenant.deployId}`],
    [`/v1/diagnosis?deployId=${tenant.deployId}`, tenant.key, goodBody],
    ["/v1/usage"],
    ["/admin/v1/workspaces", adminToken, { name: "New" }],
  ];
  for (const request of requests) {
    const { status, json, headers } = await send(...request);
    assert.equal([status, (json as { error: string }).error], [500, "Internal server error"], request[0]);
    const { cause, requestId } = JSON.parse(logged.pop()!);
    assert.equal([cause, requestId], ["Error: no time source", headers.get("X-Request-Id")]);
  }
  assert.is((await send("/healthz")).status, 200);
  isBroken = false;
  for (const request of requests) assert.ok((await send(...request)).status < 300, request[0]);
  assert.is(countInFlight(), 0);
});

test.run();
