// Signing in at a real identity provider: the way there and back, what is refused, and how a session ends.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { seal } from "../../src/console/entrance/seals.ts";
import { importSecret } from "../../src/management/kernel/service-secret.ts";
import { adminToken, bearer, readAnswer } from "../helpers.ts";
import { createBrowser, stageProvider } from "./provider.ts";
import type { Shown } from "./provider.ts";
import { titleOf } from "./visitor.ts";

const test = suite("signing in at an identity provider");

const stage = await stageProvider();
test.after(() => stage.end());
test.before.each(() => void (stage.ahead = 0));

const hour = 3_600_000; // ms
const consoleUrl = `${stage.url}/console`;

/** Why the page that signs in shows again. */
const faultIn = ({ text }: Pick<Shown, "text">): string | undefined =>
  /<div class="notice error" role="alert"><p>(?:<strong>Error<\/strong> )?(.*?)<\/p>/s.exec(text)?.[1]?.replaceAll(
    "&#39;",
    "'",
  );

const invalid = "The sign-in with the company's account is not valid";

/** Goes to the provider's form, from the console. */
const begin = async (browser = createBrowser(), next = "workspaces") => ({
  browser,
  form: await browser.go(`company?next=${encodeURIComponent(next)}`, `${consoleUrl}/sign-in`),
});

/** Signs in as a person. */
async function signIn(login: string, next?: string) {
  const { browser, form } = await begin(createBrowser(), next);
  return { browser, shown: await browser.submit(form, { login, password: "any" }) };
}

/** Signs in at the provider, and catches the answer on its way back to the console. */
async function catchAnswer(login: string) {
  const { browser, form } = await begin();
  const cookies = new Map(browser.cookies);
  let answer = "";
  const { fetch } = stage.service;
  stage.service.fetch = fetch;
  const original = globalThis.fetch;
  globalThis.fetch = (async (input: RequestInfo | URL, init?: RequestInit) => {
    if (!String(input).startsWith(`${consoleUrl}/callback`)) return await original(input, init);
    answer = String(input);
    return new Response("caught");
  }) as typeof globalThis.fetch;
  await browser.submit(form, { login, password: "any" }).finally(() => void (globalThis.fetch = original));
  return { browser, cookies, answer };
}

test("a person signs in, is who the provider says, and does what their group may", async () => {
  const { shown, browser } = await signIn("ann");
  assert.equal([shown.status, shown.url, titleOf(shown.text)], [200, `${consoleUrl}/workspaces`, "Workspaces"]);
  assert.match(shown.text, "ann@acme.com");
  assert.match(shown.text, ">admin<");
  const path = `${consoleUrl}/${stage.workspaceId}/keys`;
  const page = await browser.go(path);
  const made = await browser.go(path, page.url, { name: "Hers" });
  assert.is(made.status, 200);
  const entries = await stage.service.fetch(
    new Request(`${stage.url}/admin/v1/audit?limit=1`, { headers: bearer(adminToken) }),
  );
  const { json } = await readAnswer(entries);
  const [{ actor, source, action }] = (json as { items: Record<string, string>[] }).items as [Record<string, string>];
  assert.equal([actor, source, action], ["ann@acme.com", "console", "key.created"]);
  assert.match((await signIn("bob")).shown.text, ">viewer<");
});

test("a person without a group, or with an address that is not theirs for sure, is refused by name", async () => {
  const wrong = (await signIn("joe")).shown;
  assert.is(wrong.status, 403);
  assert.match(faultIn(wrong)!, /^joe@else\.com has no role here: no rule of AUTH_ROLES matches .* email, exp/);
  const unsure = (await signIn("eve")).shown;
  assert.match(faultIn(unsure)!, /^eve has no role here/);
});

test("an answer is for the browser that asked, and for one time", async () => {
  const { browser, cookies, answer } = await catchAnswer("ann");
  const other = await begin();
  const mixed = await other.browser.go(answer);
  assert.equal([mixed.status, faultIn(mixed)], [401, `${invalid}: it began in another window.`]);
  const without = await createBrowser().go(answer);
  assert.match(faultIn(without)!, "it took more than 10 minutes, or did not begin in this browser");
  // A code that somebody else got, in the answer to one's own question, has another verifier.
  const own = await catchAnswer("bob"), forged = new URL(own.answer);
  forged.searchParams.set("code", new URL(answer).searchParams.get("code")!);
  const injected = await own.browser.go(forged.href);
  assert.equal(faultIn(injected), `${invalid}: the identity provider answered with invalid_grant.`);

  const { browser: next, cookies: kept, answer: good } = await catchAnswer("ann");
  const first = await next.go(good);
  assert.is(first.status, 200);
  for (const [name, value] of kept) next.cookies.set(name, value);
  assert.match(faultIn(await next.go(good))!, "did not begin in this browser");
  // Another process knows nothing of it. The provider does.
  const cookie = [...kept].map(([name, { value }]) => `${name.split(" ")[1]}=${value}`).join("; ");
  const again = await stage.openService().fetch(new Request(good, { headers: { Cookie: cookie } }));
  assert.equal(faultIn(await readAnswer(again)), `${invalid}: the identity provider answered with invalid_grant.`);
  assert.ok(browser.cookies.size > 0 && cookies.size > 0);
});

test("an answer of another provider, without a code, of an error or after ten minutes signs nobody in", async () => {
  const cases: [change: (url: URL) => void, fault: string][] = [
    [
      ({ searchParams }) => searchParams.set("iss", "https://evil.example"),
      "the identity provider's answer is not valid",
    ],
    [({ searchParams }) => searchParams.delete("iss"), "the identity provider's answer is not valid"],
    [({ searchParams }) => searchParams.delete("code"), "the identity provider's answer is not valid"],
    [({ searchParams }) => searchParams.append("state", "x"), "the identity provider's answer is not valid"],
    [({ searchParams }) => searchParams.append("code", "x"), "the identity provider's answer is not valid"],
    [
      ({ searchParams }) => searchParams.set("error", "access_denied"),
      "the identity provider answered with access_denied",
    ],
    [({ searchParams }) => searchParams.set("error", "<b>call us</b>"), "the identity provider answered with an error"],
    [() => void (stage.ahead = 600_000), "it took more than 10 minutes, or did not begin in this browser"],
  ];
  for (const [change, fault] of cases) {
    const { browser, answer } = await catchAnswer("ann"), url = new URL(answer);
    change(url);
    const shown = await browser.go(url.href);
    assert.equal([shown.status, faultIn(shown)?.startsWith(`${invalid}: ${fault}`)], [401, true], faultIn(shown));
    assert.not.ok([...browser.cookies.keys()].some((name) => name.endsWith("pl_session")));
    stage.ahead = 0;
  }
});

test("each refusal has a warning with its cause and the id of its request, and no secret", async () => {
  const { answer, browser } = await catchAnswer("ann"), url = new URL(answer), code = url.searchParams.get("code")!;
  const cases: [change: (url: URL) => void, cause: RegExp][] = [
    [({ searchParams }) => searchParams.set("iss", "https://evil.example"), /"iss" \(issuer\) response parameter/],
    [({ searchParams }) => searchParams.set("state", "x"), /it began in another window/],
    [({ searchParams }) => searchParams.set("error", "access_denied"), /access_denied/],
    [({ searchParams }) => searchParams.set("code", "of-nobody-at-all"), /invalid_grant; .*status 400/],
  ];
  for (const [change, cause] of cases) {
    const other = await catchAnswer("ann"), changed = new URL(other.answer);
    change(changed);
    stage.logged.length = 0;
    const { headers } = await other.browser.go(changed.href);
    assert.is(stage.logged.length, 1);
    const line = JSON.parse(stage.logged[0]!) as Record<string, string>;
    assert.equal([line.level, line.message, line.requestId], ["warn", "Sign-in refused", headers.get("X-Request-Id")]);
    assert.match(line.cause!, cause);
    for (const secret of [code, changed.searchParams.get("code")!, stage.settings.OIDC_CLIENT_SECRET]) {
      assert.not.ok(stage.logged.join().includes(secret));
    }
  }
  // The log has no addresses.
  stage.logged.length = 0;
  assert.is((await signIn("carol")).shown.status, 403);
  assert.match(stage.logged.join(), /"cause":"no_role"/);
  assert.not.match(stage.logged.join(), /carol/);
  assert.ok(browser.cookies.size > 0);
});

test("clocks may differ by a minute", async () => {
  for (const [ahead, status] of [[50_000, 200], [-50_000, 200], [2 * hour, 401]] as const) {
    stage.ahead = ahead;
    const { shown } = await signIn("ann");
    assert.is(shown.status, status, `${ahead} ${faultIn(shown)}`);
    if (status === 401) assert.match(faultIn(shown)!, /expired/);
  }
});

test("a provider that is away, or another one, is named, and the token signs in nevertheless", async () => {
  const host = new URL(stage.issuer).host;
  stage.ahead = hour;
  stage.break((_, response) => response.writeHead(503).end());
  // What is known of it is a guide to its page for as long as it is away.
  const begun = await stage.service.fetch(new Request(`${consoleUrl}/company`));
  assert.is(begun.status, 303);
  const fresh = stage.openService();
  const away = await readAnswer(await fresh.fetch(new Request(`${consoleUrl}/company`)));
  assert.equal([away.status, faultIn(away)], [
    503,
    `The identity provider cannot be reached: ${host} answered with status 503.`,
  ]);
  assert.match(away.text, 'name="token"');
  stage.break((_, response) =>
    response.writeHead(200, { "Content-Type": "application/json" }).end('{"issuer":"https://evil.example"}')
  );
  const other = await readAnswer(await stage.openService().fetch(new Request(`${consoleUrl}/company`)));
  assert.match(faultIn(other)!, "has no discovery document of OIDC_ISSUER");
  await stage.recover("first");
  const { browser, answer } = await catchAnswer("ann");
  stage.break((request) => request.socket.destroy());
  const lost = await browser.go(answer);
  assert.equal([lost.status, faultIn(lost)], [
    503,
    `The identity provider cannot be reached: the connection to ${host} failed.`,
  ]);
  await stage.recover("first");
});

test("new keys of the provider are found, and keys that are not its own sign nobody in", async () => {
  await stage.recover("second");
  stage.ahead = 31_000;
  const { shown } = await signIn("ann");
  assert.is(shown.status, 200, faultIn(shown));
  await stage.recover("third");
  const early = (await signIn("ann")).shown;
  assert.match(faultIn(early)!, "its token is not signed by a key of the provider");
  stage.ahead = 62_000;
  assert.is((await signIn("ann")).shown.status, 200);
});

test("the way back leads nowhere else", async () => {
  for (
    const next of ["https://evil.example", "//evil.example", "/\\evil.example", "../../x", "%2e%2e/x", "javascript:1"]
  ) {
    const { shown } = await signIn("ann", next);
    assert.match(new URL(shown.url).pathname, /^\/console\/(workspaces|ws_\w+)?$/, next);
    assert.is(new URL(shown.url).origin, stage.url);
  }
});

test("signing out ends the session here and at the provider", async () => {
  const { browser, shown } = await signIn("ann");
  const cookies = new Map(browser.cookies);
  const left = await browser.go("sign-out", shown.url, {});
  assert.is(new URL(left.url).origin, stage.issuer);
  assert.match(left.url, /\/session\/end\?client_id=prompts&post_logout_redirect_uri=.*&id_token_hint=/);
  const back = await browser.submit(left, { logout: "yes" });
  assert.equal([back.url.split("?")[0], titleOf(back.text)], [`${consoleUrl}/sign-in`, "Sign in"]);
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  assert.is(titleOf((await browser.go(`${consoleUrl}/workspaces`)).text), "Sign in");
  const { form } = await begin(browser);
  assert.match(form.text, 'name="login"');
});

test("a session ends after twelve hours, and with every change of the settings", async () => {
  const { browser } = await signIn("ann");
  const cookie = `pl_session=${[...browser.cookies].find(([name]) => name.endsWith("pl_session"))![1].value}`;
  const statusAt = async (service: Pick<typeof stage.service, "fetch">) =>
    (await service.fetch(new Request(`${consoleUrl}/workspaces`, { headers: { Cookie: cookie } }))).status;
  assert.equal([await statusAt(stage.service), await statusAt(stage.openService())], [200, 200]);
  for (
    const changes of [
      { AUTH_ROLES: "groups:llm-admins=viewer" },
      { OIDC_CLIENT_SECRET: "another-secret-of-the-client" },
      { OIDC_CLIENT_ID: "others" },
    ]
  ) assert.is(await statusAt(stage.openService(changes)), 303);
  stage.ahead = 12 * hour - 60_000;
  assert.is(await statusAt(stage.service), 200);
  stage.ahead = 12 * hour + 60_000;
  assert.is(await statusAt(stage.service), 303);
});

test("whoever has a copy of the database alone makes no session of a person", async () => {
  const key = await importSecret(stage.database);
  const text = JSON.stringify({ person: { actor: "ann@acme.com", role: "owner" }, endsAt: Date.now() + hour });
  for (const purpose of ["person", "session"]) {
    const headers = { Cookie: `pl_session=${await seal(key, purpose, text)}` };
    const { status } = await stage.service.fetch(new Request(`${consoleUrl}/workspaces`, { headers }));
    assert.is(status, 303);
  }
});

test.run();
