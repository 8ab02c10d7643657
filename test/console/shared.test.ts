// What the console shares with the management API of its service: the bounds on guesses, on long work and on exports.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { managementOverloaded } from "../../src/common/errors.ts";
import { createSlots } from "../../src/support/slots.ts";
import { managementWith } from "../../src/faces/management.ts";
import { createWorkspace } from "../actions.ts";
import { adminToken, bearer, captureLog, createTenant, createWorld, managementOf, openMemory } from "../helpers.ts";
import { noon, readAnswer, serveContext, wholePages } from "../helpers.ts";
import { cookieOf, createVisit, origin, ownPage, sendToken, titleOf } from "./visitor.ts";

const test = suite("shared with the API");

test("thirty failures in a minute count once for both, and the admin token still gets through", async () => {
  const world = await createWorld();
  const viaApi = (token: string) => world.send("/admin/v1/workspaces", { headers: bearer(token) });
  const viaConsole = (token: string) => sendToken(world, token);
  for (let nth = 0; nth < 15; nth++) {
    assert.equal([(await viaApi("wrong")).status, (await viaConsole("wrong")).status], [401, 401], `${nth}`);
  }
  assert.equal([(await viaApi("wrong")).status, (await viaConsole("wrong")).status], [429, 429]);
  assert.equal([(await viaApi(adminToken)).status, (await viaConsole(adminToken)).status], [200, 303]);
  await world.close();
});

test("long work has one bound for both", async () => {
  const database = await openMemory();
  const { workspaceId } = await createTenant(managementOf(database), 10);
  const longWork = createSlots(1, 10, managementOverloaded);
  const faces = [managementWith({ adminToken }, () => longWork), wholePages()];
  const { fetch } = serveContext(database, { clock: () => noon, log: captureLog("error").log, faces });
  const send = async (path: string, init: RequestInit) => readAnswer(await fetch(new Request(origin + path, init)));
  const body = String(new URLSearchParams({ token: adminToken }));
  const Cookie = cookieOf(await send("/console/sign-in", { method: "POST", headers: ownPage, body }));
  const viaApi = () => send(`/admin/v1/workspaces/${workspaceId}/usage/2026-11`, { headers: bearer(adminToken) });
  const viaConsole = () => send(`/console/${workspaceId}/usage`, { headers: { Cookie } });
  const leave = await longWork.enter("");
  assert.is((await viaApi()).status, 503);
  const { status, text } = await viaConsole();
  assert.equal([status, titleOf(text).split(" · ")[0]], [503, "The service is busy"]);
  leave();
  assert.equal([(await viaApi()).status, (await viaConsole()).status], [200, 200]);
  await database.close();
});

const pageOfExport = 256; // entries

test("an export that fails in its middle breaks off, and the log has the cause", async () => {
  const memory = await openMemory();
  let isFailing = false;
  const read: typeof memory.read = (statement) =>
    isFailing ? Promise.reject(new Error("no disk")) : memory.read(statement);
  const { world, visitor } = await createVisit({ database: { ...memory, read } });
  for (let nth = 0; nth < pageOfExport; nth++) await createWorkspace(world.admin, { name: `W${nth}` });
  const url = `${origin}/console/${world.workspaceId}/audit/export?everywhere=yes`;
  const headers = { Cookie: visitor.cookie, "X-Request-Id": "export-1" };
  const response = await world.fetch(new Request(url, { headers }));
  assert.is(response.status, 200);
  isFailing = true;
  await response.text().then(() => assert.unreachable(), () => {});
  const { message, requestId, cause } = JSON.parse(world.logged.at(-1)!);
  assert.equal([message, requestId], ["Response broke off", "export-1"]);
  assert.match(cause, "no disk");
  isFailing = false;
  await world.close();
});

test.run();
