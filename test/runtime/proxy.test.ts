// Requests through a proxy: which ones go there, what the proxy sees, and that the rules on addresses of webhooks stay.
// Runs on every runtime.
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { createServer as createHttp } from "node:http";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readConfig } from "../../src/runtime/settings/config.ts";
import { proxyFault } from "../../src/support/proxy-url.ts";
import { send } from "../../src/runtime/serving/outbound.ts";
import { fetchVia, findProxy, isDirect } from "../../src/runtime/proxy.ts";
import { runFile } from "../conformance/processes.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";
import { startProxy } from "./raw-proxy.ts";

const test = suite("proxies");

const name = "hooks.promptledger.dev", address = "93.184.216.34";
const cert = await readFile(pathOf("test/runtime/receiver-cert.pem"), "utf8");
const key = await readFile(pathOf("test/runtime/receiver-key.pem"), "utf8");

type Seen = { method: string | undefined; url: string | undefined; host: string | undefined; body: string };
const seen: Seen[] = [];
let respond: RequestListener = (_, response) => response.writeHead(201, { "X-Two": ["a", "b"] }).end("stored");

const listener: RequestListener = (request: IncomingMessage, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (part) => body += part).on("end", () => {
    const { method, url, headers } = request;
    seen.push({ method, url, host: headers.host, body });
    respond(request, response);
  });
};

const servers = [createHttps({ cert, key }, listener), createHttp(listener)] as const;
for (const server of servers) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const [securePort, plainPort] = servers.map((server) => (server.address() as AddressInfo).port) as [number, number];
test.after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});
test.before.each(() => void (seen.length = 0));

/** A proxy that knows where the receivers are. */
const start = () => startProxy((target) => target.endsWith(":443") ? securePort : plainPort);

const rejection = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => "sent", (error: Error) => error.message);

const hook = { url: `https://${name}/hook?a=1`, headers: { "X-Test": "1" }, body: '{"a":"ü"}' };
const resolveTo = (...addresses: string[]) => ({ resolve: () => Promise.resolve(addresses) });

test("a webhook goes through the proxy to the address that was checked, which sees nothing of it", async () => {
  const proxy = await start(), url = new URL(proxy.url);
  Object.assign(url, { username: "ann", password: "p@ss" });
  const options = { allowed: [], timeout: 60_000, proxy: url, ca: cert };
  assert.equal(await send(hook, { ...options, ...resolveTo(address) }), {
    ...{ status: 201, text: "stored", retryAfter: undefined },
  });
  assert.equal(seen, [{ method: "POST", url: "/hook?a=1", host: name, body: hook.body }]);
  const credentials = Buffer.from("ann:p@ss").toString("base64");
  assert.equal(proxy.heads, [
    `CONNECT ${address}:443 HTTP/1.1\r\nHost: ${address}:443\r\nProxy-Authorization: Basic ${credentials}`,
  ]);
  await send(hook, { ...options, ...resolveTo("2606:2800:220:1::1") });
  assert.match(proxy.heads[1]!, /^CONNECT \[2606:2800:220:1::1\]:443 /);
  // The certificate is still one of the name.
  const other = { ...hook, url: "https://other.promptledger.dev/" };
  assert.is.not(await rejection(send(other, { ...options, ...resolveTo(address) })), "sent");
  proxy.close();
});

test("a webhook reaches nothing inside by the proxy, which is not even asked", async () => {
  const proxy = await start(), options = { allowed: [], timeout: 60_000, proxy: new URL(proxy.url), ca: cert };
  for (const inside of ["127.0.0.1", "10.0.0.7", "169.254.169.254", "fd00::1", "::ffff:0:7f00:1"]) {
    assert.match(await rejection(send(hook, { ...options, ...resolveTo(inside) })), /which is no public address/);
  }
  for (const url of ["https://127.0.0.1/", "https://[::1]/", "https://metadata.internal/", "http://example.com/"]) {
    assert.match(await rejection(send({ ...hook, url }, { ...options, ...resolveTo(address) })), /^The URL /);
  }
  assert.equal(proxy.heads, []);
  proxy.close();
});

test("a host that the settings name is the proxy's to resolve, and by http too", async () => {
  const proxy = await start(), options = { allowed: [name], timeout: 60_000, proxy: new URL(proxy.url), ca: cert };
  const resolve = () => Promise.reject(new Error("it is not resolved here"));
  assert.is((await send(hook, { ...options, resolve })).status, 201);
  assert.match(proxy.heads[0]!, `CONNECT ${name}:443 HTTP/1.1`);
  assert.is((await send({ ...hook, url: `http://${name}/plain` }, { ...options, resolve })).status, 201);
  assert.match(proxy.heads[1]!, `POST http://${name}/plain HTTP/1.1`);
  assert.is(seen.at(-1)!.host, name);
  // This machine is behind no proxy.
  const local = { ...hook, url: `http://127.0.0.1:${plainPort}/local` };
  assert.is((await send(local, { ...options, allowed: ["127.0.0.1"] })).status, 201);
  assert.is(proxy.heads.length, 2);
  proxy.close();
});

test("what a proxy answers is said, and one that never does is not waited for", async () => {
  const answers: [answer: string, error: RegExp][] = [
    ["HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", /^The proxy 127\.0\.0\.1 answered CONNECT with 403$/],
    ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", /answered CONNECT with 407$/],
    ["220 smtp.example.com\r\n\r\n", /^127\.0\.0\.1 does not answer as a proxy does$/],
    ["", /^The proxy closed the connection$/],
    [`HTTP/1.1 200 OK\r\n${"X: y\r\n".repeat(5_000)}`, /does not answer as a proxy does$/],
  ];
  for (const [answer, error] of answers) {
    const proxy = await startProxy(() => answer);
    const options = { allowed: [], timeout: 60_000, proxy: new URL(proxy.url), ca: cert };
    assert.match(await rejection(send(hook, { ...options, ...resolveTo(address) })), error);
    proxy.close();
  }
  const silent = await startProxy(() => undefined);
  const options = { allowed: [], timeout: 50, proxy: new URL(silent.url), ca: cert };
  assert.is(await rejection(send(hook, { ...options, ...resolveTo(address) })), "No response in 0.05 s");
  silent.close();
});

test("the next address of a name is tried if the proxy cannot reach one", async () => {
  const proxy = await startProxy((target) =>
    target === "8.8.8.8:443" ? "HTTP/1.1 502 Bad Gateway\r\n\r\n" : securePort
  );
  const options = { allowed: [], timeout: 60_000, proxy: new URL(proxy.url), ca: cert };
  assert.is((await send(hook, { ...options, ...resolveTo("8.8.8.8", address) })).status, 201);
  assert.is(proxy.heads.length, 2);
  proxy.close();
});

test("fetch through a proxy has what fetch has: method, headers, body, status, a stream, and an end by its signal", async () => {
  const proxy = await start(), url = `http://${name}/object?x=%20`;
  const via = (init?: RequestInit) => fetchVia(new URL(proxy.url), new Request(url, init));
  const response = await via({ method: "PUT", headers: { "X-Test": "1" }, body: new Uint8Array([0xc3, 0xbc]) });
  assert.equal([response.status, await response.text(), response.headers.get("X-Two")], [201, "stored", "a, b"]);
  assert.equal(seen, [{ method: "PUT", url: "/object?x=%20", host: name, body: "ü" }]);
  respond = (_, response) => response.writeHead(302, { Location: "/other" }).end();
  assert.is((await via()).status, 302);
  respond = (_, response) => response.writeHead(204).end();
  assert.is(await (await via()).text(), "");
  respond = (_, response) => void response.writeHead(200).write("begun");
  const ending = new AbortController(), begun = await via({ signal: ending.signal }), reader = begun.body!.getReader();
  assert.is(Buffer.from((await reader.read()).value!).toString(), "begun");
  ending.abort(new DOMException("The download stands still", "TimeoutError"));
  assert.is(await reader.read().then(() => "read", (error: Error) => error.name), "TimeoutError");
  respond = () => {};
  const signal = AbortSignal.timeout(20);
  assert.is(await via({ signal }).then(() => "answered", (error: Error) => error.name), "TimeoutError");
  respond = (_, response) => response.writeHead(201, { "X-Two": ["a", "b"] }).end("stored");
  proxy.close();
});

if (currentRuntime === "Node") {
  test("the command line reaches a service behind the proxies of the environment", async () => {
    const proxy = await start();
    respond = (_, response) =>
      response.writeHead(200, { "Content-Type": "application/json" }).end('{"items":[],"nextCursor":null}');
    const settings = {
      ...{ PROMPTLEDGER_TOKEN: "x".repeat(32), HTTPS_PROXY: proxy.url, https_proxy: "" },
      NODE_EXTRA_CA_CERTS: pathOf("test/runtime/receiver-cert.pem"),
    };
    const args = ["workspace", "list", "--json", "--server", `https://${name}/llm`];
    const { code, out, said } = await runFile("Node", "src/cli.ts", args, settings);
    assert.equal([code, out.trim()], [0, "[]"], said);
    assert.match(proxy.heads[0]!, `CONNECT ${name}:443 HTTP/1.1`);
    assert.match(seen[0]!.url!, /^\/llm\/admin\/v1\/workspaces/);
    proxy.close();
  });
}

const proxyOf = (url: string, env: Record<string, string>) => findProxy(new URL(url), env)?.href;

test("the environment names a proxy for http and one for https, and hosts that need none", () => {
  const env = {
    HTTP_PROXY: "http://one:1",
    HTTPS_PROXY: "two:2",
    NO_PROXY: ".corp.example, 10.0.0.0/8 exact:8443,fd00::/8",
  };
  assert.is(proxyOf("http://example.com/", env), "http://one:1/");
  assert.is(proxyOf("https://example.com/", env), "http://two:2/");
  assert.is(proxyOf("https://example.com/", { ...env, https_proxy: "https://ann:x@three" }), "https://ann:x@three/");
  assert.is(proxyOf("https://example.com/", { HTTP_PROXY: "http://one:1" }), undefined);
  const direct = [
    ...["https://corp.example/", "https://a.corp.example/", "https://10.1.2.3/", "https://[fd12::1]/"],
    ...["https://exact:8443/", "https://localhost/", "https://a.localhost/", "https://127.0.0.2/", "https://[::1]:9/"],
  ];
  for (const url of direct) assert.is(proxyOf(url, env), undefined, url);
  for (const url of ["https://notcorp.example/", "https://11.1.2.3/", "https://exact/", "https://10.0.0.1.example/"]) {
    assert.is(proxyOf(url, env), "http://two:2/", url);
  }
  assert.is(proxyOf("https://example.com/", { ...env, no_proxy: "*" }), undefined);
  for (const text of ["socks5://one:1", "http://", "ftp://one", "http://one/path", "a b"]) {
    assert.type(proxyFault(text), "string", text);
    assert.throws(() => proxyOf("https://example.com/", { HTTPS_PROXY: text }), /^HTTPS_PROXY must be/);
    assert.throws(() => readConfig({ WEBHOOK_PROXY: text }), /WEBHOOK_PROXY must be/);
  }
  assert.is(readConfig({ WEBHOOK_PROXY: "proxy.internal:3128" }).webhookProxy, "proxy.internal:3128");
});

test("whatever NO_PROXY has, a host is direct if and only if an entry is it, a domain above it, or *", () => {
  const label = fc.constantFrom("a", "b", "c"),
    domain = fc.array(label, { minLength: 1, maxLength: 3 }).map((all) => `${all.join(".")}.example`);
  const entry = fc.oneof(domain, domain.map((each) => `.${each}`), domain.map((each) => `*.${each}`));
  fc.assert(
    fc.property(domain, fc.array(entry, { maxLength: 4 }), fc.constantFrom(",", ", ", " "), (host, entries, gap) => {
      const domains = entries.map((each) => each.replace(/^\*?\./, ""));
      const expected = domains.some((each) => host === each || host.endsWith(`.${each}`));
      assert.is(isDirect(new URL(`https://${host}/`), { NO_PROXY: entries.join(gap) }), expected);
    }),
  );
  fc.assert(fc.property(fc.string(), fc.webUrl(), (list, url) => {
    assert.type(isDirect(new URL(url), { NO_PROXY: list }), "boolean");
  }));
});

test.run();
