// People by a header that a proxy signs: who gets in and as what, what is refused, and where the keys come from.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { HeaderSettings } from "../../src/faces/sign-in/people-settings.ts";
import { readRoleRules } from "../../src/support/roles.ts";
import { managementWith } from "../../src/faces/management.ts";
import { peopleOf } from "../../src/faces/sign-in/people.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call } from "../actions.ts";
import { ownPage, sendToken, titleOf, visit } from "../console/visitor.ts";
import { adminToken, bearer, captureLog, createWorld, readAnswer, wholePages } from "../helpers.ts";
import { createKeyServer, createSigner, signNothing, signWithText } from "./identity.ts";

const test = suite("people");

const world = await createWorld();
test.after(() => world.close());
test.before.each(() => void (world.now += 3_600_000)); // keys and failures of the test before count no more

const signers = await Promise.all((["RS256", "ES256", "EdDSA"] as const).map((alg) => createSigner(alg, alg)));
const [rsa, ec] = signers as [typeof signers[0], typeof signers[0]];

const settings: HeaderSettings = {
  name: "cf-access-jwt-assertion",
  keysUrl: "https://acme.example/certs",
  issuer: "https://acme.example",
  audience: "prompts",
  isForApi: true,
};

/** Claims of a valid token of Ann's, an admin. */
const claimsOf = (changes: object = {}) => ({
  ...{ iss: settings.issuer, aud: settings.audience, sub: "1", email: "ann@acme.com", groups: ["llm-admins"] },
  ...{ iat: world.now / 1000, exp: world.now / 1000 + 300, ...changes },
});

/** A service for people, on the world's database. */
function open(
  changes: Partial<HeaderSettings> = {},
  rules = "groups:llm-admins=admin, boss:yes=owner, email:*@acme.com=viewer",
) {
  const keys = createKeyServer(signers.map(({ jwk }) => jwk));
  const { log, logged } = captureLog("warn");
  const people = peopleOf(
    { header: { ...settings, ...changes }, provider: undefined, ...readRoleRules(rules) },
    keys.fetch,
    log,
  );
  const faces = [managementWith({ adminToken, tokens: true }, undefined, { people }), wholePages()];
  const service = serveDatabase(world.database, { clock: () => world.now, faces });
  const send = async (path: string, init: RequestInit = {}) =>
    readAnswer(await service.fetch(new Request(`http://ledger.test${path}`, init)));
  const { name } = { ...settings, ...changes };
  const headersOf = (token: string) => ({ [name]: name === "authorization" ? `Bearer ${token}` : token });
  return {
    ...{ keys, service, send, headersOf, logged },
    page: (token: string, path = "/console/workspaces") => send(path, { headers: headersOf(token) }),
    api: (token: string) => send("/admin/v1/workspaces", { headers: headersOf(token) }),
  };
}

/** What the page that signs in says of a token. */
async function faultOf({ page }: ReturnType<typeof open>, token: string): Promise<string> {
  const { status, text } = await page(token, "/console/sign-in");
  const [, fault] = /<div class="notice error" role="alert"><p>(?:<strong>Error<\/strong> )?(.*?)<\/p>/s.exec(text) ??
    [];
  return `${status} ${fault?.replaceAll("&#39;", "'") ?? titleOf(text)}`;
}

test("a token that a key of the provider signed opens the console and the API, as the person in it", async () => {
  const service = open();
  for (const signer of signers) {
    const token = await signer.sign({}, claimsOf());
    const { status, text } = await service.page(token);
    assert.equal([status, /ann@acme\.com<\/bdi>|ann@acme\.com/.test(text), text.includes(">admin<")], [
      200,
      true,
      true,
    ]);
    assert.is((await service.api(token)).status, 200);
  }
  assert.equal(service.keys.urls, [settings.keysUrl]);
  const boss = await rsa.sign({}, claimsOf({ boss: "yes" }));
  const headers = { ...service.headersOf(boss), "Content-Type": "application/json" };
  const made = await service.send("/admin/v1/workspaces", { method: "POST", headers, body: '{"name":"Hers"}' });
  assert.is(made.status, 201);
  const { json } = await world.manage("GET", "/audit?limit=1");
  const [{ actor, source, tokenId }] = (json as { items: Record<string, unknown>[] }).items as [
    Record<string, unknown>,
  ];
  assert.equal([actor, source, tokenId], ["ann@acme.com", "api", null]);
});

test("tokens in the form of each proxy's sign in", async () => {
  const [, es] = signers as [unknown, typeof signers[0]];
  const host = "prompts.example.com", day = 86_400, now = world.now / 1000;
  const proxies: [name: string, signer: typeof rsa, issuer: string, audience: string, rule: string, claims: object][] =
    [
      // oauth2-proxy passes what the provider has made, here as Keycloak does.
      ["Authorization", rsa, "https://id.example/realms/acme", "prompts", "realm_access.roles:llm=editor", {
        ...{ typ: "ID", azp: "prompts", preferred_username: "ann", email_verified: true },
        realm_access: { roles: ["offline_access", "llm"] },
      }],
      [
        "Cf-Access-Jwt-Assertion",
        rsa,
        "https://acme.cloudflareaccess.com",
        "a".repeat(64),
        "custom.groups:llm=editor",
        {
          ...{
            aud: ["a".repeat(64)],
            type: "app",
            country: "DE",
            custom: { groups: ["llm"] },
            nbf: now,
            exp: now + day,
          },
        },
      ],
      ["X-Pomerium-Jwt-Assertion", es, host, host, "groups:llm=editor", { groups: ["llm"], user: "1", jti: "x" }],
      [
        "X-Goog-Iap-Jwt-Assertion",
        es,
        "https://cloud.google.com/iap",
        "/projects/1/global/backendServices/2",
        "hd:acme.com=editor",
        {
          ...{ sub: "accounts.google.com:1", hd: "acme.com", exp: now + 600, google: { access_levels: [] } },
        },
      ],
    ];
  for (const [name, signer, issuer, audience, rule, claims] of proxies) {
    const { page } = open({ name: name.toLowerCase(), issuer, audience }, rule);
    const token = await signer.sign({}, { ...claimsOf(), iss: issuer, aud: audience, groups: undefined, ...claims });
    const { status, text } = await page(token);
    assert.equal([status, text.includes("ann@acme.com"), text.includes(">editor<")], [200, true, true], name);
  }
});

test("what is not signed by the provider for this service, or is not valid now, signs nobody in", async () => {
  const service = open(), stranger = await createSigner("RS256", rsa.kid);
  const claims = claimsOf(), now = world.now / 1000;
  const good = await rsa.sign({}, claims), [head, body, signature] = good.split(".") as [string, string, string];
  const other = (await rsa.sign({}, claimsOf({ email: "eve@acme.com" }))).split(".")[1]!;
  const { exp: _, ...endless } = claims;
  const pem = `-----BEGIN PUBLIC KEY-----\n${rsa.jwk.n}\n-----END PUBLIC KEY-----\n`;
  const unsigned = "its token is not signed by a key of the provider";
  const refused: [fault: string, token: string][] = [
    [unsigned, await stranger.sign({}, claims)],
    [unsigned, await stranger.sign({ jwk: stranger.jwk, jku: "https://evil.example/keys", kid: undefined }, claims)],
    [unsigned, `${head}.${other}.${signature}`],
    [unsigned, `${head}.${body}.${signature.slice(0, -8)}`],
    [unsigned, `${head}.${body}.`],
    [unsigned, signNothing(claims)],
    [unsigned, signNothing(claims, "None")],
    [unsigned, `${signNothing(claims)}${signature}`],
    [unsigned, await signWithText(pem, { kid: rsa.kid }, claims)],
    [unsigned, await signWithText(JSON.stringify(rsa.jwk), { kid: rsa.kid }, claims)],
    [unsigned, await signWithText("\0", {}, claims)],
    [unsigned, await rsa.sign({ alg: "PS256" }, claims)],
    [unsigned, await rsa.sign({ alg: "RS384" }, claims)],
    [unsigned, await rsa.sign({ kid: ec.kid }, claims)],
    [unsigned, await ec.sign({ kid: rsa.kid }, claims)],
    [unsigned, await rsa.sign({ crit: ["x"], x: 1 }, claims)],
    [unsigned, await rsa.sign({ b64: false, crit: ["b64"] }, claims)],
    [unsigned, await rsa.sign({}, "[]")],
    [unsigned, await rsa.sign({}, "{")],
    ["it has expired", await rsa.sign({}, claimsOf({ exp: now - 60 }))],
    ["its claim exp is missing or wrong", await rsa.sign({}, endless)],
    ["its claim exp is missing or wrong", await rsa.sign({}, claimsOf({ exp: "never" }))],
    ["its claim nbf is missing or wrong", await rsa.sign({}, claimsOf({ nbf: now + 62 }))],
    ["its iss is not AUTH_ISSUER", await rsa.sign({}, claimsOf({ iss: "https://acme.example/" }))],
    ["its iss is not AUTH_ISSUER", await rsa.sign({}, claimsOf({ iss: [settings.issuer] }))],
    ["its aud is not AUTH_AUDIENCE", await rsa.sign({}, claimsOf({ aud: "other" }))],
    ["its aud is not AUTH_AUDIENCE", await rsa.sign({}, claimsOf({ aud: [] }))],
    ["its aud is not AUTH_AUDIENCE", await rsa.sign({}, claimsOf({ aud: undefined }))],
    ["its header must have one signed token", `${good}, ${good}`],
    ["its header must have one signed token", `Bearer ${good}`],
    ["its header must have one signed token", "ann@acme.com"],
    ["its token has more than 16384 characters", await rsa.sign({}, claimsOf({ groups: Array(10_000).fill("g") }))],
  ];
  for (const [fault, token] of refused) {
    assert.is(
      await faultOf(service, token),
      `401 The sign-in with the company's account is not valid: ${fault}.`,
      fault,
    );
    assert.equal([(await service.page(token)).status, (await service.api(token)).status], [303, 401], fault);
  }
  const two = new Headers([[settings.name, good], [settings.name, good]]);
  assert.is((await service.send("/admin/v1/workspaces", { headers: two })).status, 401);
  assert.equal(service.keys.urls, [settings.keysUrl]);
});

test("the log has the cause of a refused header, each once a minute, and no word of the token", async () => {
  const { page, logged } = open(), now = world.now / 1000;
  const cases: [cause: RegExp, token: string][] = [
    [/"iss".*iss is "https:\/\/other\.example"/, await rsa.sign({}, claimsOf({ iss: "https://other.example" }))],
    [/"aud".*aud is "others"/, await rsa.sign({}, claimsOf({ aud: "others" }))],
    [/"exp"/, await rsa.sign({}, claimsOf({ exp: now - 60 }))],
    [/"alg" \(Algorithm\) Header Parameter value not allowed/, await rsa.sign({ alg: "PS256" }, claimsOf())],
    [/signature verification failed/, await (await createSigner("RS256", rsa.kid)).sign({}, claimsOf())],
  ];
  for (const [cause, token] of cases) {
    for (const _ of [1, 2, 3]) await page(token);
    assert.is(logged.length, 1, String(cause));
    const line = JSON.parse(logged.pop()!) as Record<string, string>;
    assert.equal([line.level, line.message], ["warn", "Sign-in by header refused"]);
    assert.match(JSON.stringify(line.cause).replaceAll('\\"', '"'), cause);
    assert.not.ok(token.split(".").some((part) => line.cause!.includes(part)) || /ann@/.test(line.cause!));
  }
  world.now += 60_000;
  await page(cases[0]![1]);
  assert.is(logged.length, 1);
});

test("clocks may differ by a minute, and a token may be for other services too", async () => {
  const { api } = open(), now = world.now / 1000;
  for (const changes of [{ exp: now - 59 }, { nbf: now + 60 }, { aud: ["other", settings.audience] }]) {
    assert.is((await api(await rsa.sign({}, claimsOf(changes)))).status, 200);
  }
});

test("a header without a signature signs nobody in, whatever proxies call it", async () => {
  const { send } = open();
  const names = ["X-Forwarded-User", "X-Forwarded-Email", "X-Auth-Request-Email", "X-WEBAUTH-USER", "Remote-User"];
  const more = ["Cf-Access-Authenticated-User-Email", "X-Goog-Authenticated-User-Email", "Tailscale-User-Login"];
  const headers = Object.fromEntries([...names, ...more].map((name) => [name, "ann@acme.com"]));
  assert.is((await send("/admin/v1/workspaces", { headers })).status, 401);
  assert.is((await send("/console/workspaces", { headers })).status, 303);
});

test("a person whom no rule gives a role is refused, with the names of their claims alone", async () => {
  const service = open({}, "groups:llm-admins=admin, email:*@acme.com=viewer, email:ann@else.com=viewer@ws_gone");
  const none = await rsa.sign({}, claimsOf({ email: "eve@evil.com", groups: ["secret-group"], "<b>": 1 }));
  const answer = await service.api(none);
  assert.is(answer.status, 403);
  assert.match(answer.text, "eve@evil.com has no role here: no rule of AUTH_ROLES matches the claims of this sign-in");
  assert.match(answer.text, "<b>, aud, email, exp, groups, iat, iss, sub");
  assert.not.match(answer.text, /secret-group/);
  const page = await service.page(none, "/console/sign-in");
  assert.equal([page.status, page.text.includes("&lt;b>") || page.text.includes("&lt;b&gt;")], [403, true]);
  const gone = await rsa.sign({}, claimsOf({ email: "ann@else.com", groups: [] }));
  assert.match((await service.api(gone)).text, "ann@else.com has a role in ws_gone alone, which is no workspace");
  const unverified = await rsa.sign({}, claimsOf({ email_verified: false, groups: [] }));
  assert.match((await service.api(unverified)).text, /"1 has no role here/);
});

test("a role for one workspace shows that one alone", async () => {
  const { api } = open({}, `email:*@acme.com=editor@${world.workspaceId}`);
  const { json } = await api(await ec.sign({}, claimsOf()));
  assert.equal((json as { items: { id: string }[] }).items.map(({ id }) => id), [world.workspaceId]);
});

test("keys are read once in ten minutes, and once more for a key that is not there, at most twice a minute", async () => {
  const { api, keys } = open();
  const fresh = await createSigner("ES256", "fresh");
  const statusOf = async (signer = rsa) => (await api(await signer.sign({}, claimsOf()))).status;
  assert.equal([await statusOf(), await statusOf(ec), keys.urls.length], [200, 200, 1]);
  world.now += 29_000;
  for (let nth = 0; nth < 20; nth++) {
    assert.is((await api(await rsa.sign({ kid: `random ${nth}` }, claimsOf()))).status, 401);
  }
  assert.is(keys.urls.length, 1);
  keys.keys.push(fresh.jwk);
  world.now += 1_000;
  assert.equal([await statusOf(fresh), keys.urls.length], [200, 2]);
  world.now += 30_000;
  for (let nth = 0; nth < 20; nth++) {
    assert.is((await api(await rsa.sign({ kid: `random ${nth}` }, claimsOf()))).status, 401);
  }
  assert.is(keys.urls.length, 3);
  // A key that the provider has given up is good until the keys are read again.
  keys.keys = [fresh.jwk];
  world.now += 599_999;
  assert.equal([await statusOf(), keys.urls.length], [200, 3]);
  world.now += 1;
  assert.equal([await statusOf(), keys.urls.length], [401, 4]);
});

test("while the provider is away its keys go on, and a service that has none says so and soon looks again", async () => {
  const answers: [string, () => Response | Promise<Response>][] = [
    ["the connection to acme.example failed", () => Promise.reject(new TypeError("refused"))],
    ["acme.example answered with status 503", () => new Response("away", { status: 503 })],
    ["acme.example answered with status 302", () => new Response(null, { status: 302, headers: { Location: "/x" } })],
    ["acme.example answered with something that is no JSON", () => new Response("<html>")],
    ["acme.example answered with more than 262144 bytes", () => new Response(`{"keys":[${" ".repeat(300_000)}]}`)],
    ["acme.example answered with something that is no key set", () => Response.json({ keys: "none" })],
    ["acme.example answered with something that is no key set", () => Response.json(null)],
  ];
  for (const [fault, answer] of answers) {
    const { api, keys } = open();
    const good = keys.answer, ask = async () => await api(await rsa.sign({}, claimsOf()));
    keys.answer = answer;
    const away = await ask();
    assert.equal([away.status, away.text.includes(fault)], [503, true], away.text);
    assert.equal([(await ask()).status, keys.urls.length], [503, 1]);
    world.now += 5_000;
    keys.answer = good;
    assert.equal([(await ask()).status, keys.urls.length], [200, 2]);
    keys.answer = answer;
    world.now += 3_600_000;
    for (let nth = 0; nth < 3; nth++) assert.is((await ask()).status, 200);
    assert.is(keys.urls.length, 3);
  }
});

test("a token that names no key is signed by one of those that it can be of, and few are tried", async () => {
  const { api, keys } = open(), next = await createSigner("RS256", "next"), unnamed = { kid: undefined };
  keys.keys.push(next.jwk);
  for (const signer of [rsa, ec, next]) assert.is((await api(await signer.sign(unnamed, claimsOf()))).status, 200);
  const stranger = await createSigner("RS256", "stranger");
  assert.is((await api(await stranger.sign(unnamed, claimsOf()))).status, 401);
  assert.is((await api(await next.sign(unnamed, claimsOf({ aud: "other" })))).status, 401);
  keys.keys = [...Array.from({ length: 500 }, (_, nth) => ({ ...stranger.jwk, kid: `${nth}` })), rsa.jwk];
  world.now += 3_600_000;
  const many = await api(await rsa.sign(unnamed, claimsOf()));
  assert.equal([many.status, (await api(await rsa.sign({}, claimsOf()))).status], [401, 200]);
});

test("many requests at once read the keys once", async () => {
  const { api, keys } = open();
  const token = await rsa.sign({}, claimsOf());
  const answers = await Promise.all(Array.from({ length: 50 }, () => api(token)));
  assert.equal([answers.every(({ status }) => status === 200), keys.urls.length], [true, 1]);
});

test("in Authorization a person's token stands beside management tokens, and a wrong token falls back to nobody", async () => {
  for (const name of ["authorization", "cf-access-jwt-assertion"]) {
    const { send, headersOf } = open({ name });
    const person = headersOf(await rsa.sign({}, claimsOf({ boss: ["yes"] })));
    const { token } = await call(createToken, world.admin, { name: "robot", role: "viewer" });
    const statusOf = async (headers: HeadersInit) => (await send("/admin/v1/workspaces", { headers })).status;
    const create = async (headers: HeadersInit) =>
      (await send("/admin/v1/workspaces", { method: "POST", headers, body: '{"name":"New"}' })).status;
    assert.equal([await statusOf(person), await statusOf(bearer(token)), await statusOf(bearer(adminToken))], [
      200,
      200,
      200,
    ]);
    // The admin's header is there, and the viewer's token counts.
    if (name !== "authorization") {
      assert.equal([await statusOf({ ...person, ...bearer(token) }), await create({ ...person, ...bearer(token) })], [
        200,
        403,
      ]);
      assert.equal([await statusOf({ ...person, ...bearer("wrong") }), await statusOf({ ...person, ...bearer("") })], [
        401,
        401,
      ]);
    }
    assert.is(await create({ ...person, "Content-Type": "application/json" }), 201);
  }
});

test("the API takes no person unless it is told to, and never a request of another site's page", async () => {
  const closed = open({ isForApi: false });
  const token = await rsa.sign({}, claimsOf());
  assert.equal([(await closed.api(token)).status, (await closed.page(token)).status], [401, 200]);
  const { send, headersOf } = open();
  const from: [headers: Record<string, string>, status: number][] = [
    [{}, 200],
    [{ "Sec-Fetch-Site": "none" }, 200],
    [{ "Sec-Fetch-Site": "same-origin", Origin: "http://ledger.test" }, 200],
    [{ Origin: "http://ledger.test" }, 200],
    [{ "Sec-Fetch-Site": "same-site" }, 403],
    [{ "Sec-Fetch-Site": "cross-site" }, 403],
    [{ Origin: "http://evil.test" }, 403],
    [{ Origin: "null" }, 403],
  ];
  for (const [headers, status] of from) {
    const answer = await send("/admin/v1/workspaces", { headers: { ...headersOf(token), ...headers } });
    assert.is(answer.status, status, JSON.stringify(headers));
  }
});

test("forms of the console keep their protection, and a link on another site leads on by a page of ours", async () => {
  const { send, headersOf } = open();
  const person = headersOf(await rsa.sign({}, claimsOf({ boss: "yes" })));
  const body = "name=New&monthlyLimit=10";
  const post = (headers: Record<string, string>) =>
    send("/console/workspaces", { method: "POST", headers: { ...person, ...ownPage, ...headers }, body });
  const count = async () => ((await world.manage("GET", "/workspaces?limit=100")).json as { items: [] }).items.length;
  const before = await count();
  for (const site of ["cross-site", "same-site", "none"]) {
    assert.is((await post({ "Sec-Fetch-Site": site })).status, 403);
  }
  assert.is(await count(), before);
  assert.is((await post({})).status, 303);
  assert.is(await count(), before + 1);

  const link = await send("/console/workspaces", { headers: { ...person, "Sec-Fetch-Site": "cross-site" } });
  assert.equal([link.status, link.headers.get("Refresh")], [200, "0; url=./continue?next=workspaces"]);
  assert.not.match(link.text, /Acme/);
  const signIn = await send("/console/sign-in?next=workspaces", {
    headers: { ...person, "Sec-Fetch-Site": "cross-site" },
  });
  assert.is(signIn.headers.get("Refresh"), "0; url=./continue?next=workspaces");
  const page = await send("/console/workspaces", { headers: person });
  assert.not.match(page.text, /Sign out/);
});

test("a person has no session, so a page is theirs for as long as their token, and a token still signs in without one", async () => {
  const { send, page } = open();
  const token = await rsa.sign({}, claimsOf());
  assert.equal([(await page(token, "/console/sign-in?next=workspaces")).headers.get("Location")], ["./workspaces"]);
  world.now += 361_000;
  const { status, headers } = await page(token);
  assert.equal([status, headers.get("Location"), headers.get("Set-Cookie")], [303, "./sign-in?next=workspaces", null]);
  const visitor = await visit({ send, workspaceId: world.workspaceId });
  assert.match((await visitor.open("workspaces")).text, /Sign out/);
  assert.is((await sendToken({ send }, adminToken)).status, 303);
});

test("a review of a person's is theirs, under their address", async () => {
  const { send, headersOf } = open();
  const headers = { ...headersOf(await rsa.sign({}, claimsOf())), ...ownPage };
  await world.submit();
  const post = (path: string, body: string) =>
    send(`/console/${world.workspaceId}/reviews/${path}`, { method: "POST", headers, body });
  const made = await post("new", "title=Mine&records=10");
  const [, id] = /reviews\/(review_\w+)/.exec(made.headers.get("Location") ?? "") ?? [];
  assert.match((await post(id!, "do=next")).headers.get("Location")!, "/records/");
  const { json } = await world.manage("GET", `/reviews/${id}`);
  const { createdBy, reviewers } = json as { createdBy: string; reviewers: { reviewer: string }[] };
  assert.equal([createdBy, reviewers.map(({ reviewer }) => reviewer)], ["ann@acme.com", ["ann@acme.com"]]);
});

test.run();
