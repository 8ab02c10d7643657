import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { adminToken, bearer, createWorld } from "../helpers.ts";

const test = suite("cross-origin requests");

const app = "https://app.example.com";
const asking = { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization" };

/** The headers of an answer that concern origins. */
const crossHeaders = ({ headers }: { headers: Headers }) =>
  Object.fromEntries([...headers].filter(([name]) => name === "vary" || name.startsWith("access-control-")));

test("are answered like others if no origin is configured", async () => {
  const world = await createWorld();
  const headers = { Origin: app, ...bearer(world.key) };
  const path = `/v1/prompts?deployId=${world.deployId}`;
  assert.equal(crossHeaders(await world.send(path, { headers })), {});
  const preflight = await world.send(path, { method: "OPTIONS", headers: { Origin: app, ...asking } });
  assert.equal([preflight.status, crossHeaders(preflight)], [405, {}]);
});

test("from a configured origin can be read by its pages, also refusals", async () => {
  const world = await createWorld({ corsOrigins: ["https://other.example.com", app] });
  for (const key of [world.key, "nonsense"]) {
    const headers = { Origin: app, ...bearer(key) };
    const answer = await world.send(`/v1/prompts?deployId=${world.deployId}`, { headers });
    assert.is(answer.headers.get("Access-Control-Allow-Origin"), app);
    assert.is(answer.headers.get("Vary"), "Origin");
    assert.match(answer.headers.get("Access-Control-Expose-Headers")!, /X-RateLimit-Remaining/);
  }
});

for (
  const origin of ["https://evil.example.com", `${app}.evil.com`, "https://app.example.com:444", "null", undefined]
) {
  test(`from ${origin ?? "no origin"} cannot be read if other origins are configured`, async () => {
    const world = await createWorld({ corsOrigins: [app] });
    const headers = { ...bearer(world.key), ...(origin === undefined ? {} : { Origin: origin }) };
    const answer = await world.send(`/v1/prompts?deployId=${world.deployId}`, { headers });
    assert.equal([answer.status, crossHeaders(answer)], [200, { vary: "Origin" }]);
    const preflight = await world.send("/v1/diagnosis", { method: "OPTIONS", headers: { ...headers, ...asking } });
    assert.equal([preflight.status, crossHeaders(preflight)], [405, { vary: "Origin" }]);
  });
}

test("from any origin can be read if * is configured, and no answer depends on the origin", async () => {
  const world = await createWorld({ corsOrigins: ["*"] });
  const answer = await world.send("/v1/usage", { headers: { Origin: app, ...bearer(world.key) } });
  const { "access-control-allow-origin": allowed, vary } = crossHeaders(answer);
  assert.equal([allowed, vary], ["*", undefined]);
});

test("are announced by a preflight, which needs no key and costs nothing", async () => {
  const world = await createWorld({ corsOrigins: [app] });
  const answer = await world.send("/v1/diagnosis", { method: "OPTIONS", headers: { Origin: app, ...asking } });
  assert.equal([answer.status, answer.text], [204, ""]);
  const headers = crossHeaders(answer);
  assert.is(headers["access-control-allow-origin"], app);
  assert.match(headers["access-control-allow-methods"]!, /\bPOST\b/);
  for (const name of ["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "traceparent"]) {
    assert.ok(headers["access-control-allow-headers"]!.includes(name), name);
  }
  assert.is(headers["access-control-max-age"], "7200");
  assert.is((await world.read()).headers.get("X-RateLimit-Used"), "1");
});

test("an OPTIONS request that is not a preflight is a method like others", async () => {
  const world = await createWorld({ corsOrigins: ["*"] });
  const answer = await world.send("/v1/diagnosis", { method: "OPTIONS", headers: { Origin: app } });
  assert.equal([answer.status, answer.headers.get("Allow")], [405, "POST"]);
});

test("the headers of one answer appear in no other, of this service or another", async () => {
  const world = await createWorld({ corsOrigins: [app] });
  const other = await createWorld();
  const paths = ["/healthz", "/openapi.json", "/v1/nowhere", "/admin/v1/workspaces", "/admin/v1/nowhere"];
  for (const { deployId } of [world, other]) {
    for (const format of ["ndjson", "csv", "promptfoo"]) {
      paths.push(`/admin/v1/deployments/${deployId}/diagnoses/export?format=${format}`);
    }
  }
  const headers = bearer(adminToken);
  for (const path of paths) {
    const allowed = await world.send(path, { headers: { ...headers, Origin: app, "X-Request-Id": "first" } });
    assert.is(allowed.headers.get("Access-Control-Allow-Origin"), app, path);
    const unasked = await world.send(path, { headers });
    assert.equal(crossHeaders(unasked), { vary: "Origin" }, path);
    const elsewhere = await other.send(path, { headers });
    assert.equal(crossHeaders(elsewhere), {}, path);
    assert.is(elsewhere.headers.get("X-Request-Id"), "test");
  }
});

test.run();
