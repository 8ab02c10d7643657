// What an identity provider may answer, and whoever stands in its place: discovery, tokens, keys and user information. The provider is
// a function, and nothing in it is of the library that reads it.
// Runs on every runtime in CI.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { Refusal } from "../../src/common/errors.ts";
import { readRoleRules } from "../../src/support/roles.ts";
import { openProvider } from "../../src/faces/sign-in/identity-provider.ts";
import { causeOf, describeFault } from "../../src/faces/sign-in/sign-in-fault.ts";
import { createWorld } from "../helpers.ts";
import { findListen } from "../runtime/listen.ts";
import { createSigner, signNothing, signWithText } from "./identity.ts";

const test = suite("answers of an identity provider");

const world = await createWorld();
test.after(() => world.close());

// A service on Node replaces the global Response by one that checks its status when it is first read.
const listen = await findListen();
const server = await listen(world.fetch, { host: "127.0.0.1", port: 0 }, () => {});
await server.stop(() => Promise.resolve());

const issuer = "https://id.example/acme", clientId = "prompts", clientSecret = "secret of 16 characters, and more: &%";
const settings = { issuer, clientId, clientSecret, scope: "openid email", publicUrl: "https://prompts.example/llm" };
const { rules } = readRoleRules("email:*@acme.com=editor");
const [rsa, ec, stranger] = await Promise.all([
  createSigner("RS256", "rsa"),
  createSigner("ES256", "ec"),
  createSigner("RS256", "rsa"),
]);

type Sent = { url: string; init: RequestInit & { headers: Record<string, string> } };
type Claims = Record<string, unknown>;

const discovery = {
  ...{ issuer, authorization_endpoint: `${issuer}/authorize?tenant=1`, token_endpoint: `${issuer}/token` },
  ...{ jwks_uri: `${issuer}/keys`, userinfo_endpoint: `${issuer}/me`, end_session_endpoint: `${issuer}/end` },
  ...{ response_types_supported: ["code"], id_token_signing_alg_values_supported: ["RS256", "ES256", "HS256", "none"] },
};

/** A provider whose answers can be replaced, and an attempt that has begun there. */
async function stage(
  answers: Partial<Record<"discovery" | "token" | "keys" | "me", (response: object) => Response | Promise<Response>>> =
    {},
  claims: Claims = {},
  sign = rsa.sign,
) {
  const sent: Sent[] = [];
  let nonce = "";
  const now = world.now / 1000;
  const json = (body: object) => Response.json(body);
  const send = (async (url: string, init: Sent["init"]) => {
    sent.push({ url, init });
    const { discovery: tell = json, token = json, keys = json, me = json } = answers;
    if (url === `${issuer}/.well-known/openid-configuration`) return await tell(discovery);
    if (url === `${issuer}/keys`) return await keys({ keys: [rsa.jwk, ec.jwk] });
    if (url === `${issuer}/me`) return await me({ sub: "1", email: "ann@acme.com" });
    const all = { iss: issuer, aud: clientId, sub: "1", iat: now, exp: now + 300, nonce, ...claims };
    return await token({ access_token: "x", token_type: "Bearer", id_token: await sign({}, all) });
  }) as typeof fetch;
  const provider = openProvider(settings, rules, send);
  const store = { database: world.database, clock: () => world.now };
  const begun = await provider.begin(store);
  nonce = begun.attempt.nonce;
  const warnings: string[] = [];
  const finish = (changes: Claims = {}) => {
    const answer = new URLSearchParams({ code: "c", state: begun.attempt.state, ...changes as Record<string, string> });
    const warn = (message: string, cause: string) => void warnings.push(`${message}: ${cause}`);
    return provider.finish(store, answer, begun.attempt, warn);
  };
  return { ...begun, sent, store, provider, finish, warnings };
}

/** Why a sign-in was refused. */
const faultOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => "none", (error) => {
    if (error instanceof Refusal) {
      return error.message.replace(/^The sign-in with the company's account is not valid: /, "");
    }
    throw error;
  });

test("a person is sent to the provider with a challenge, and comes back with the claims of token and user information", async () => {
  for (const sign of [rsa.sign, ec.sign]) {
    const { url, attempt, sent, finish, provider, store } = await stage({}, {}, sign);
    const { searchParams, origin, pathname } = new URL(url);
    assert.equal([origin + pathname, searchParams.get("tenant")], [`${issuer}/authorize`, "1"]);
    assert.equal(searchParams.get("redirect_uri"), "https://prompts.example/llm/console/callback");
    assert.equal([searchParams.get("code_challenge_method"), searchParams.get("state")], ["S256", attempt.state]);
    assert.not.ok(url.includes(attempt.verifier) || url.includes(clientSecret));
    const { person, idToken } = await finish();
    assert.equal([person.actor, person.owner, person.role, person.workspaceId], [
      ...["ann@acme.com", "ann@acme.com", "editor"],
      undefined,
    ]);
    assert.equal(sent.map(({ url }) => url.slice(issuer.length)), [
      ...["/.well-known/openid-configuration", "/token", "/keys", "/me"],
    ]);
    assert.ok(sent.every(({ init }) => init.redirect === "manual" && init.signal !== undefined));
    assert.match(String(sent[1]!.init.body), attempt.verifier);
    const end = new URL((await provider.findEnd(store, idToken))!);
    assert.equal(end.searchParams.get("post_logout_redirect_uri"), "https://prompts.example/llm/console/sign-in");
  }
});

test("a token of anybody else, for anybody else, of another time or another attempt signs nobody in", async () => {
  const now = world.now / 1000, wrong = "the identity provider's answer is not valid";
  const cases: [claims: Claims, fault: string][] = [
    [{ iss: "https://evil.example" }, wrong],
    [{ aud: "others" }, wrong],
    [{ aud: [clientId, "others"] }, wrong],
    [{ aud: [clientId, "others"], azp: "others" }, wrong],
    [{ nonce: "other" }, wrong],
    [{ nonce: undefined }, wrong],
    [{ exp: now - 61 }, "it has expired, or the clocks differ by more than a minute"],
    [{ nbf: now + 61 }, "it has expired, or the clocks differ by more than a minute"],
    [{ exp: undefined }, wrong],
    [{ sub: undefined }, wrong],
    [{ sub: "" }, wrong],
  ];
  for (const [claims, fault] of cases) {
    const { finish } = await stage({}, claims);
    assert.is(await faultOf(finish()), fault, JSON.stringify(claims));
  }
  for (const claims of [{ exp: now - 58 }, { aud: [clientId, "others"], azp: clientId }]) {
    assert.is(await faultOf((await stage({}, claims)).finish()), "none");
  }
});

test("whoever answers in the place of the token endpoint has no key", async () => {
  const unsigned = "its token is not signed by a key of the provider";
  const signs: [sign: typeof rsa.sign, fault: string | RegExp][] = [
    [stranger.sign, unsigned],
    [(_, claims) => stranger.sign({ jwk: stranger.jwk, kid: undefined }, claims), unsigned],
    [(_, claims) => signWithText(clientSecret, { kid: "rsa" }, claims as object), /not (valid|signed)/],
    [(_, claims) => signWithText(JSON.stringify(rsa.jwk), { kid: "rsa" }, claims as object), /not (valid|signed)/],
    [(_, claims) => Promise.resolve(signNothing(claims as object)), /not (valid|signed)/],
    [() => Promise.resolve("x"), /not (valid|signed)/],
  ];
  for (const [sign, fault] of signs) assert.match(await faultOf((await stage({}, {}, sign)).finish()), fault);
});

test("other answers than were asked for are refused, and none is followed, read endlessly or repeated", async () => {
  const host = "id.example", away = "The identity provider cannot be reached: ";
  const redirect = () => new Response(null, { status: 302, headers: { Location: "http://169.254.169.254/" } });
  const huge = () =>
    new Response(`{"x":"${"x".repeat(300_000)}"}`, { headers: { "Content-Type": "application/json" } });
  // No Response can be made so, but a fetch may give one.
  const odd = () => Object.defineProperty(new Response("x"), "status", { value: 799 });
  const refused = (error: string) => () => Response.json({ error }, { status: 400 });
  const invalid = "the identity provider's answer is not valid";
  const cases: [answers: Parameters<typeof stage>[0], fault: string][] = [
    [{ token: redirect }, invalid],
    [{ token: huge }, `${away}${host} answered with more than 262144 bytes`],
    [{ token: () => new Response("<html>") }, invalid],
    [{ token: () => Response.json({ access_token: "x", token_type: "Bearer" }) }, invalid],
    [{ token: refused("invalid_client") }, "the identity provider answered with invalid_client"],
    [{ token: refused("<b>secret</b>") }, "the identity provider answered with an error"],
    [{ token: () => new Response("x", { status: 502 }) }, `${away}${host} answered with status 502`],
    [{ token: odd }, `${away}${host} answered with status 799`],
    [{ token: () => Promise.reject(new TypeError("reset")) }, `${away}the connection to ${host} failed`],
    [{ keys: redirect }, `${away}${host} answered with status 302`],
    [{ keys: odd }, `${away}${host} answered with status 799`],
    [{ keys: huge }, `${away}${host} answered with more than 262144 bytes`],
    [{ token: (found) => Response.json({ ...found, access_token: "x\0" }) }, invalid],
    [{ discovery: (found) => Response.json({ ...found, token_endpoint_auth_methods_supported: {} }) }, invalid],
    [{ me: redirect }, invalid],
    [{ me: () => Response.json({ sub: "2", email: "boss@acme.com" }) }, invalid],
    [{ me: () => Response.json({ email: "boss@acme.com" }) }, invalid],
    [{ me: () => new Response(null, { status: 401, headers: { "WWW-Authenticate": "Bearer" } }) }, invalid],
  ];
  for (const [answers, fault] of cases) {
    const { sent, finish } = await stage(answers);
    assert.is(await faultOf(finish()), fault, JSON.stringify(Object.keys(answers!)));
    assert.ok(sent.length <= 4);
  }
});

/** The cause of a refusal that the log has. */
const causeIn = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => "none", (error) => error instanceof Refusal ? causeOf(error) : String(error));

test("the log has the cause of each refusal, and no secret", async () => {
  const now = world.now / 1000, json = (body: object, status = 400) => () => Response.json(body, { status });
  const repeating = `secret ${clientSecret} or ${encodeURIComponent(clientSecret)} or code-of-once is wrong`;
  const claimCases: [claims: Claims, cause: RegExp][] = [
    [
      { iss: "https://evil.example" },
      /"iss".*iss is "https:\/\/evil\.example", expected "https:\/\/id\.example\/acme"/,
    ],
    [{ aud: "others" }, /"aud".*aud is "others", expected "prompts"/],
    [{ aud: [clientId, "others"], azp: "others" }, /"azp".*azp is "others", expected "prompts"/],
    [{ nonce: "other" }, /"nonce" claim value/],
    [{ exp: now - 61 }, /"exp" \(expiration time\) claim value, expiration is past/],
    [{ sub: undefined }, /"sub" \(subject\) claim missing/],
  ];
  for (const [claims, cause] of claimCases) assert.match(await causeIn((await stage({}, claims)).finish()), cause);
  const signCases: [sign: typeof rsa.sign, cause: RegExp][] = [
    [stranger.sign, /signature verification failed/],
    [(_, claims) => signWithText(clientSecret, { kid: "rsa" }, claims as object), /alg|key/i],
    [(header, claims) => rsa.sign({ ...header, alg: "PS256" }, claims), /"alg".*alg is "PS256", expected \["RS256"/],
    [(header, claims) => rsa.sign({ ...header, kid: "gone" }, claims), /no applicable key found/],
  ];
  for (const [sign, cause] of signCases) assert.match(await causeIn((await stage({}, {}, sign)).finish()), cause);
  const answerCases: [answers: Parameters<typeof stage>[0], cause: RegExp][] = [
    [
      { token: json({ error: "invalid_client", error_description: repeating }) },
      /invalid_client; secret … or … or … is wrong; status 400/,
    ],
    [{ token: json({ error: "invalid_grant" }) }, /invalid_grant; status 400/],
    [{ token: json({}, 302) }, /unexpected HTTP status code.*status 302/],
    [{ token: () => new Response("<html>") }, /content-type/i],
    [{ token: json({ access_token: "x", token_type: "Bearer" }, 200) }, /"id_token"/],
    [{ me: json({ sub: "2" }, 200) }, /"sub" property value/],
    [{ keys: json({}, 500) }, /id\.example answered with status 500/],
    [{ token: () => Promise.reject(new TypeError("reset")) }, /the connection to id\.example failed/],
  ];
  for (const [answers, cause] of answerCases) {
    const { finish, attempt } = await stage(answers), text = await causeIn(finish({ code: "code-of-once" }));
    assert.match(text, cause);
    const secrets = [clientSecret, "code-of-once", attempt.nonce, attempt.verifier, attempt.state];
    assert.equal(secrets.filter((secret) => text.includes(secret)), []);
    assert.ok(text.length < 1000);
  }
  const other = { discovery: (found: object) => Response.json({ ...found, issuer: "https://evil.example" }) };
  assert.match(await causeIn(stage(other)), /issuer is "https:\/\/evil\.example", expected/);
});

test("whatever a provider says, the log repeats no secret and ends", async () => {
  const { attempt } = await stage();
  const secrets = [clientSecret, "code-of-once", attempt.nonce];
  const parts = fc.array(fc.oneof(fc.constantFrom(...secrets), fc.string({ unit: "binary", maxLength: 300 })));
  await fc.assert(
    fc.asyncProperty(parts, async (said) => {
      const error_description = said.join("");
      const error = Object.assign(new TypeError("refused"), { error: error_description, error_description });
      const text = describeFault(error, secrets);
      assert.ok(text.length < 1000 && secrets.every((secret) => !text.includes(secret)));
      await Promise.resolve();
    }),
  );
});

const all = { email: "ann@acme.com", email_verified: true };

test("the user information is asked for where claims are missing, and nowhere else", async () => {
  const failing = () => new Response("down", { status: 500 });
  const { sent, finish } = await stage({ me: failing }, all);
  assert.is((await finish()).person.role, "editor");
  assert.not.ok(sent.some(({ url }) => url.endsWith("/me")));
  for (const name of Object.keys(all)) {
    const { sent, finish } = await stage({}, { ...all, [name]: undefined });
    assert.is((await finish()).person.role, "editor");
    assert.ok(sent.some(({ url }) => url.endsWith("/me")), name);
  }
});

test("a user information that fails keeps nobody out for whom the ID token is enough, and the log has the cause", async () => {
  const failures: [me: () => Response | Promise<Response>, cause: RegExp][] = [
    [() => new Response("down", { status: 503 }), /id\.example answered with status 503/],
    [() => Promise.reject(new TypeError("reset")), /the connection to id\.example failed/],
    [() => new Response("<html>", { status: 200 }), /content-type/i],
    [() => new Response(null, { status: 302, headers: { Location: "http://169.254.169.254/" } }), /status 302/],
    [() => new Response(null, { status: 401, headers: { "WWW-Authenticate": 'Bearer error="x"' } }), /status 401/],
    [() => Response.json({ email: "boss@acme.com" }), /"sub"/],
  ];
  for (const [me, cause] of failures) {
    const { finish, warnings } = await stage({ me }, { email: "ann@acme.com" });
    const { person } = await finish();
    assert.equal([person.actor, person.role], ["ann@acme.com", "editor"]);
    assert.is(warnings.length, 1);
    assert.match(warnings[0]!, /^The user information cannot be read; the ID token is enough: /);
    assert.match(warnings[0]!, cause);
    // Nothing else gives a role that the token lacks.
    assert.is.not(await faultOf((await stage({ me })).finish()), "none");
    assert.is.not(await faultOf((await stage({ me }, { email: "ann@evil.example" })).finish()), "none");
  }
  const { finish } = await stage({ me: () => Response.json({ sub: "2" }) }, { email: "ann@acme.com" });
  assert.is(await faultOf(finish()), "the identity provider's answer is not valid");
});

test("few sign-ins wait for the provider at once, so that strangers cannot have the service flood it", async () => {
  let answer = () => {};
  const held = new Promise<void>((resolve) => void (answer = resolve));
  const { finish, sent } = await stage({ token: (found) => held.then(() => Response.json(found)) });
  const waiting = Array.from({ length: 64 }, () => finish());
  const full = "The identity provider cannot be reached: 64 sign-ins wait for its answer";
  assert.is(await faultOf(finish()), full);
  assert.is(sent.filter(({ url }) => url.endsWith("/token")).length, 64);
  // Those of a Worker whose clients have left never end.
  world.now += 15_000;
  const late = finish();
  answer();
  assert.is(await faultOf(late), "none");
  await Promise.all(waiting);
  for (let nth = 0; nth < 70; nth++) assert.is(await faultOf(finish()), "none");
});

test("a discovery document of another issuer, or that leads off https, is none", async () => {
  const tell = (changes: object) => ({ discovery: (found: object) => Response.json({ ...found, ...changes }) });
  const cases: [changes: object, fault: RegExp][] = [
    [{ issuer: "https://evil.example" }, /has no discovery document of OIDC_ISSUER/],
    [{ authorization_endpoint: "http://id.example/authorize" }, /no authorization_endpoint with https:/],
    [{ authorization_endpoint: "javascript:alert(1)" }, /no authorization_endpoint with https:/],
    [{ authorization_endpoint: undefined }, /no authorization_endpoint with https:/],
  ];
  for (const [changes, fault] of cases) assert.match(await faultOf(stage(tell(changes))), fault);
  for (
    const [name, url] of [["jwks_uri", "http://id.example/keys"], [
      "token_endpoint",
      "http://id.example/token",
    ]] as const
  ) {
    const { finish } = await stage(tell({ [name]: url }));
    assert.match(await faultOf(finish()), /not valid|no jwks_uri with https:/, name);
  }
  const { provider, store } = await stage(tell({ end_session_endpoint: "javascript:alert(1)" }));
  assert.is(await provider.findEnd(store, undefined), undefined);
});

test("an address that the provider does not vouch for gives no role", async () => {
  const me = () => Response.json({ sub: "1", email: "ann@acme.com", email_verified: false });
  assert.match(await faultOf((await stage({ me })).finish()), /^1 has no role here/);
  // What the token says counts before user information.
  const { finish } = await stage({}, { email: "eve@evil.example" });
  assert.match(await faultOf(finish()), /^eve@evil\.example has no role here/);
});

test.run();
