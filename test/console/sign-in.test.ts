// Signing in: what the cookie is, what ends it, and what a change needs besides.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { sha256 } from "../../src/common/ids.ts";
import { assetPath } from "../../src/console/frame/addresses.ts";
import { pages } from "../../src/console/pages.ts";
import { sealSession } from "../../src/console/entrance/sessions.ts";
import { importSecret } from "../../src/management/kernel/service-secret.ts";
import { management } from "../../src/management.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { servedFaces } from "../../src/runtime/serving/served-faces.ts";
import { createToken, revokeToken, rotateToken } from "../../src/management/access/tokens.ts";
import { call } from "../actions.ts";
import { adminToken, bearer, captureLog, counting, createWorld, openMemory, serveContext } from "../helpers.ts";
import { wholePages, withManagement } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { cookieOf, origin, ownPage, sendToken, titleOf, visit } from "./visitor.ts";

const test = suite("signing in");

const world = await createWorld();
test.after(() => world.close());

// Wrong tokens and forged cookies of the test before count no more.
test.before.each(() => void (world.now += 60_000));

const hour = 3_600_000; // ms

const issue = (role: "viewer" | "owner" = "viewer") => call(createToken, world.admin, { name: "Ada", role });

/** What a page answers to a cookie: its status, and where it leads. */
async function knock(cookie: string, path = "/console/workspaces", { send }: World = world) {
  const { status, headers } = await send(path, { headers: { Cookie: cookie } });
  return [status, headers.get("Location")];
}

const asked = [303, "./sign-in?next=workspaces"];

test("a token becomes a cookie for this console that no script can read, and no other site can send", async () => {
  for (const token of [adminToken, (await issue()).token]) {
    const answer = await sendToken(world, token);
    assert.equal([answer.status, answer.headers.get("Location")], [303, "./"]);
    const header = answer.headers.get("Set-Cookie")!;
    assert.match(header, /^pl_session=[\w.-]+; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    assert.not.ok(header.includes(token));
    assert.equal(await knock(cookieOf(answer)), [200, null]);
  }
});

test("over https the cookie is for https alone, also behind a proxy that ends TLS", async () => {
  const { token } = await issue();
  const body = String(new URLSearchParams({ token }));
  const direct = await world.fetch(
    new Request("https://ledger.test/console/sign-in", { method: "POST", headers: ownPage, body }),
  );
  const proxied = await sendToken(world, token, { ...ownPage, "X-Forwarded-Proto": "https" });
  for (const { headers } of [direct, proxied]) {
    assert.match(headers.get("Set-Cookie")!, /^__Secure-pl_session=[\w.-]+; .*; Secure$/);
  }
  assert.equal(await knock(cookieOf(proxied)), [200, null]);
});

test("behind a proxy that ends TLS and does not say so, the cookie is for https alone if a form signs in", async () => {
  const origin = "https://ledger.test";
  const signedIn = await sendToken(world, adminToken, { ...ownPage, Origin: origin });
  assert.match(signedIn.headers.get("Set-Cookie")!, /^pl_session=[\w.-]+; .*; Secure$/);
  const headers = { ...ownPage, Origin: origin, Cookie: cookieOf(signedIn) };
  const left = await world.send("/console/sign-out", { method: "POST", headers, body: "" });
  assert.match(left.headers.get("Set-Cookie")!, /^pl_session=; .*Max-Age=0; Secure$/);
});

test("a session ends after twelve hours, with its token's revocation, and with the secret that signed in", async () => {
  const start = world.now;
  const old = cookieOf(await sendToken(world, adminToken));
  world.now = start + 12 * hour - 1;
  assert.equal(await knock(old), [200, null]);
  world.now++;
  assert.equal(await knock(old), asked);
  world.now = start;

  const revoked = await issue();
  const first = cookieOf(await sendToken(world, revoked.token));
  await call(revokeToken, world.admin, { id: revoked.id });
  assert.equal(await knock(first), asked);

  const rotated = await issue();
  const second = cookieOf(await sendToken(world, rotated.token));
  const { token } = await call(rotateToken, world.admin, { id: rotated.id, overlapMs: hour });
  const third = cookieOf(await sendToken(world, token));
  assert.equal([await knock(second), await knock(third)], [[200, null], [200, null]]);
  world.now += hour;
  assert.equal([await knock(second), await knock(third)], [asked, [200, null]]);
  world.now = start;

  const expiring = await call(createToken, world.admin, { name: "Ada", role: "viewer", expiresAt: start + hour });
  const fourth = cookieOf(await sendToken(world, expiring.token));
  world.now += hour;
  assert.equal(await knock(fourth), asked);
  world.now = start;
});

test("a cookie that was altered, or made of what the database holds, is none", async () => {
  const { token, id } = await issue();
  const cookie = cookieOf(await sendToken(world, token));
  const [name, value] = cookie.split("=") as [string, string];
  for (let at = 0; at < value.length; at += 7) {
    const altered = value.slice(0, at) + (value[at] === "A" ? "B" : "A") + value.slice(at + 1);
    assert.equal(await knock(`${name}=${altered}`), asked);
  }
  // The last bits of the last character say nothing.
  const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (const bits of [1, 2, 3]) {
    const last = characters[characters.indexOf(value.at(-1)!) ^ bits];
    assert.equal(await knock(`${name}=${value.slice(0, -1)}${last}`), asked);
  }
  const key = await importSecret(world.database);
  const sealed = await Promise.all(
    [id, await sha256(token), "admin", "", " "].map((text) => sealSession(key, text, world.now)),
  );
  for (const text of [...sealed, await sha256(token), id, ""]) {
    assert.equal(await knock(`${name}=${text}`), asked, text);
  }
});

test("a wrong token is refused, and so is every token but known ones after thirty failures in a minute", async () => {
  const guarded = await createWorld();
  const known = (await call(createToken, guarded.admin, { name: "Ada", role: "viewer" })).token;
  assert.is((await sendToken(guarded, known)).status, 303);
  for (let nth = 0; nth < 30; nth++) {
    const { status, headers, text } = await sendToken(guarded, `guess ${nth}`);
    assert.equal([status, headers.has("Set-Cookie"), text.includes("guess")], [401, false, false]);
  }
  assert.is((await sendToken(guarded, "guess")).status, 429);
  assert.equal([await sendToken(guarded, known), await sendToken(guarded, adminToken)].map(({ status }) => status), [
    303,
    303,
  ]);
  guarded.close();
});

test("forged cookies cost no query, count as wrong tokens, and are refused after thirty in a minute", async () => {
  const { database, counts } = counting(await openMemory());
  const guarded = await createWorld({ database, servesMetrics: true });
  const { token } = await call(createToken, guarded.admin, { name: "Ada", role: "viewer" });
  const cookie = cookieOf(await sendToken(guarded, token));
  const forge = (nth: number) => `pl_session=${nth}`.padEnd(cookie.length, "-");
  counts.reads = 0;
  for (let nth = 0; nth < 30; nth++) assert.equal(await knock(forge(nth), undefined, guarded), asked);
  const page = await guarded.send("/console/workspaces", { headers: { Cookie: forge(30) } });
  assert.equal([page.status, titleOf(page.text)], [429, "Too many attempts"]);
  assert.match(page.text, '<a href="./sign-in">sign in</a>');
  const late = { headers: { ...ownPage, Cookie: forge(31) }, method: "POST", body: "name=Late" };
  assert.is((await guarded.send("/console/workspaces", late)).status, 429);
  assert.is(counts.reads, 0);
  assert.is((await guarded.manage("GET", "/workspaces", undefined, bearer("wrong"))).status, 429);
  const { text: metrics } = await guarded.send("/metrics", { headers: bearer(adminToken) });
  for (const [reason, count] of [["missing", 0], ["invalid", 30], ["forbidden", 0], ["limited", 3]] as const) {
    assert.match(metrics, `promptledger_management_refusals_total{reason="${reason}"} ${count}\n`);
  }
  // Who has a session, or a token, is not shut out, and the page that signs in takes the useless cookie away.
  assert.equal(await knock(cookie, undefined, guarded), [200, null]);
  const { status, headers } = await guarded.send("/console/sign-in", { headers: { Cookie: forge(32) } });
  assert.is(status, 200);
  assert.match(headers.get("Set-Cookie")!, /^pl_session=; .*Max-Age=0/);
  assert.is((await sendToken(guarded, token)).status, 303);
  await guarded.close();
});

test("a page that asks to sign in leads back to where one wanted to go, and nowhere else", async () => {
  const path = `/console/${world.workspaceId}/records?text=parcel&last=7d`;
  const { headers } = await world.send(path, { headers: {} });
  const location = new URL(headers.get("Location")!, `${origin}${path}`);
  const next = location.searchParams.get("next")!;
  assert.equal([location.pathname, next], ["/console/sign-in", `${world.workspaceId}/records?text=parcel&last=7d`]);
  assert.is((await sendToken(world, adminToken, ownPage, next)).headers.get("Location"), next);
  const hostile = [
    "//evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "../v1/usage",
    "a/../../b",
    "%2e%2e/x",
    "%2e%2e%2fx",
    "a/..%5C..%2Fx",
    "a/.%2E/x",
    "\\\\evil",
  ];
  for (const text of [...hostile, "/etc", "a\r\nSet-Cookie: b"]) {
    assert.is((await sendToken(world, adminToken, ownPage, text)).headers.get("Location"), "./", text);
  }
});

test("a link from another site leads on by a page of ours, because no cookie comes with it", async () => {
  const path = `/console/${world.workspaceId}`;
  const { status, headers } = await world.send(path, { headers: { "Sec-Fetch-Site": "cross-site" } });
  const next = `../console/continue?next=${world.workspaceId}`.slice("../console/".length);
  assert.equal([status, headers.get("Refresh")], [200, `0; url=./${next}`]);
  const again = await world.send(`/console/${next}`, { headers: {} });
  assert.equal([again.status, again.headers.get("Location")], [303, world.workspaceId]);
});

test("a change needs a page of this console: another origin, and a request with no sign of any, are refused", async () => {
  const { cookie } = await visit(world);
  const type = { "Content-Type": "application/x-www-form-urlencoded" };
  const change = (headers: Record<string, string>) =>
    world.send("/console/workspaces", {
      method: "POST",
      headers: { Cookie: cookie, ...type, ...headers },
      body: "name=Other&monthlyLimit=1",
    });
  const count = async () => (await world.database.read({ sql: "select 1 from workspaces" })).length;
  const before = await count();
  const foreign: Record<string, string>[] = [
    {},
    { "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "same-site", Origin: origin },
    { "Sec-Fetch-Site": "none" },
    { Origin: "https://evil.example" },
    { Origin: "null" },
    { Origin: `${origin}.evil.example` },
  ];
  for (const headers of foreign) assert.is((await change(headers)).status, 403, JSON.stringify(headers));
  assert.is(await count(), before);
  assert.is((await change({ Origin: origin })).status, 303);
  assert.is((await change({ "Sec-Fetch-Site": "same-origin", Origin: "null" })).status, 303);
  assert.is(await count(), before + 2);
  // A browser sends no Sec-Fetch-Site over plain http, so this is what a proxy that changes Host makes of a form of ours.
  const { text } = await sendToken(world, adminToken, { ...type, Origin: "http://prompts.example" });
  assert.match(text, "Over http, a proxy must pass on the Host header.");
  for (const path of ["sign-in", "sign-out"]) {
    const { status, headers } = await world.send(`/console/${path}`, { method: "POST", headers: type, body: "" });
    assert.equal([status, headers.has("Set-Cookie")], [403, false]);
  }
});

const signOut = (cookie: string, { send }: Pick<World, "send"> = world) =>
  send("/console/sign-out", { method: "POST", headers: { ...ownPage, Cookie: cookie }, body: "" });

test("signing out removes the cookie and ends the session in every process, also for a copy of the cookie", async () => {
  const other = serveContext(world.database, { clock: () => world.now, faces: withManagement });
  const elsewhere = { send: (path: string, init: RequestInit) => other.fetch(new Request(origin + path, init)) };
  for (const { token } of [{ token: adminToken }, await issue()]) {
    const [cookie, another] = [await visit(world, token), await visit(world, token)].map(({ cookie }) => cookie);
    const knockElsewhere = async () => {
      const { status } = await elsewhere.send("/console/workspaces", { headers: { Cookie: cookie! } });
      return status;
    };
    assert.is(await knockElsewhere(), 200);
    const answer = await signOut(cookie!);
    assert.equal([answer.status, answer.headers.get("Location")], [303, "sign-in"]);
    assert.match(answer.headers.get("Set-Cookie")!, /^pl_session=; .*Max-Age=0/);
    assert.equal([await knock(cookie!), await knockElsewhere()], [asked, 303]);
    assert.equal(await knock(another!), [200, null]);
    const change = { method: "POST", headers: { ...ownPage, Cookie: cookie! }, body: "name=Late&monthlyLimit=1" };
    assert.is((await world.send("/console/workspaces", change)).status, 401);
  }
});

test("a session that was signed out is looked up once, and stored for no longer than a day after its end", async () => {
  const { database, counts } = counting(await openMemory());
  const own = await createWorld({ database });
  const count = async () => (await database.read({ sql: "select 1 from ended_sessions" })).length;
  const { cookie } = await visit(own);
  for (let nth = 0; nth < 3; nth++) assert.is((await signOut(cookie, own)).status, 303);
  assert.is(await count(), 1);
  counts.reads = counts.writes = 0;
  for (let nth = 0; nth < 3; nth++) assert.equal(await knock(cookie, undefined, own), asked);
  assert.equal((await signOut("pl_session=forged", own)).status, 303);
  assert.equal(counts, { reads: 0, writes: 0 });
  own.now += 36 * hour - 1;
  await signOut((await visit(own)).cookie, own);
  assert.is(await count(), 2);
  own.now++;
  await signOut((await visit(own)).cookie, own);
  assert.is(await count(), 2);
  await own.close();
});

test("a session that cannot be ended goes on, and the page says that nothing was changed", async () => {
  let isBroken = false;
  const memory = await openMemory();
  const write: typeof memory.write = (statements) =>
    isBroken ? Promise.reject(new Error("no disk")) : memory.write(statements);
  const own = await createWorld({ database: { ...memory, write } });
  const { cookie } = await visit(own);
  isBroken = true;
  const { status, headers } = await signOut(cookie, own);
  assert.equal([status, headers.has("Set-Cookie")], [500, false]);
  assert.equal(await knock(cookie, undefined, own), [200, null]);
  await own.close();
});

test("a change comes by POST: another method gets 405, with those that the page has, and changes nothing", async () => {
  const { cookie } = await visit(world);
  const headers = { ...ownPage, Cookie: cookie, "X-Request-Id": "test" };
  const count = async () => (await world.database.read({ sql: "select 1 from api_keys" })).length;
  const before = await count();
  const special: Record<string, string> = {
    "/sign-in": "GET, HEAD, POST",
    "/sign-out": "POST",
    "/continue": "GET, HEAD",
  };
  const asset = `/${assetPath("console.css")}`;
  const all = [
    ...Object.entries({ ...special, [asset]: "GET, HEAD" }),
    ...pages.map((page) =>
      [page.path.replace(":workspaceId", world.workspaceId), "act" in page ? "GET, HEAD, POST" : "GET, HEAD"] as const
    ),
  ];
  for (const [path, allowed] of all) {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]) {
      if (allowed.split(", ").includes(method)) continue;
      const isBodiless = method === "GET" || method === "HEAD";
      const init = { method, headers, ...isBodiless ? {} : { body: "name=Late&monthlyLimit=1" } };
      const response = await world.fetch(new Request(`${origin}/console${path}`, init));
      assert.equal([response.status, response.headers.get("Allow")], [405, allowed], `${method} ${path}`);
    }
  }
  assert.is(await count(), before);
});

test("a form that comes after the end of the session changes nothing, and says how to send it again", async () => {
  const body = "name=Late&monthlyLimit=1";
  const { status, text } = await world.send("/console/workspaces", { method: "POST", headers: ownPage, body });
  assert.equal([status, titleOf(text)], [401, "Signed out"]);
});

test("an API key does not sign in, and the page says what it is", async () => {
  const { status, text } = await sendToken(world, world.key);
  assert.is(status, 401);
  assert.match(text, "This is an API key");
});

test("a link signs in once, and a check of it with HEAD does not use it up", async () => {
  const database = await openMemory();
  const pages = wholePages();
  const { log } = captureLog("error");
  const { fetch } = serveContext(database, { faces: [management({ adminToken }), pages], log });
  const link = pages.createLink(adminToken);
  assert.is((await fetch(new Request(origin + link, { method: "HEAD" }))).headers.has("Set-Cookie"), false);
  const visits = [await fetch(new Request(origin + link)), await fetch(new Request(origin + link))];
  assert.equal(visits.map(({ status, headers }) => [status, headers.has("Set-Cookie")]), [[303, true], [200, false]]);
  assert.match(await visits[1]!.text(), "This link is not valid: it has been used");
  database.close();
});

test("a reusable link signs in again, for as long as its token is valid", async () => {
  const own = await createWorld();
  const pages = wholePages();
  const { fetch } = serveContext(own.database, { faces: [management({ tokens: true }), pages] });
  const { id, token } = await call(createToken, own.admin, { name: "Ada", role: "viewer" });
  const link = pages.createLink(token, { isReusable: true });
  const enter = async () => {
    const { status, headers } = await fetch(new Request(origin + link));
    return [status, headers.has("Set-Cookie")];
  };
  assert.equal([await enter(), await enter()], [[303, true], [303, true]]);
  await call(revokeToken, own.admin, { id });
  assert.equal(await enter(), [401, false]);
  await own.close();
});

test("while management is off there is no console, and it says how to turn it on", async () => {
  const service = serveDatabase(
    await openMemory(),
    servedFaces({ adminToken: undefined, management: false, webhookAllow: [], people: undefined }),
  );
  const response = await service.fetch(new Request(`${origin}/console/workspaces`));
  assert.is(response.status, 404);
  assert.match(await response.text(), "ADMIN_TOKEN");
  await service.close();
});

test("it works under a base path, and where a host strips the path that it is mounted under", async () => {
  const database = await openMemory();
  const faces = [management({ adminToken }), wholePages()];
  for (const [basePath, seen] of [["/llm/a", "/llm/a"], ["", ""]] as const) {
    const { fetch } = serveContext(database, { basePath, faces });
    const outside = (url: string) => new URL(url.replace(seen, "/outside"), origin);
    const go = async (path: string, cookie: string, base = `${seen}/console`) => {
      const response = await fetch(new Request(`${origin}${base}${path}`, { headers: { Cookie: cookie } }));
      return { status: response.status, location: response.headers.get("Location"), text: await response.text() };
    };
    const body = String(new URLSearchParams({ token: adminToken }));
    const signed = await fetch(
      new Request(`${origin}${seen}/console/sign-in`, { method: "POST", headers: ownPage, body }),
    );
    const cookie = signed.headers.get("Set-Cookie")!.split(";")[0]!;
    for (const [path, wanted] of [["", "workspaces"], ["/", "workspaces"]] as const) {
      const { location } = await go(path, cookie);
      const from = outside(`${seen}/console${path}`);
      assert.is(new URL(location!, from).pathname, `/outside/console/${wanted}`);
    }
    const { text } = await go("/workspaces", cookie);
    const [, stylesheet] = /rel="stylesheet" href="([^"]+)"/.exec(text)!;
    const path = new URL(stylesheet!, outside(`${seen}/console/workspaces`)).pathname.replace("/outside", seen);
    const style = await fetch(new Request(origin + path));
    assert.equal([style.status, style.headers.get("Content-Type")], [200, "text/css; charset=utf-8"]);
    assert.match(style.headers.get("Cache-Control")!, "immutable");
  }
  database.close();
});

test.run();
