// A real identity provider on loopback, oidc-provider, whose people sign in with any password, and a service whose console sends
// people there. Both are in this process. The provider can go away, come back with other keys, and answer in other words.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Context, Provider as OidcProvider } from "oidc-provider";
import { readConfig } from "../../src/runtime/settings/config.ts";
import { managementWith } from "../../src/faces/management.ts";
import { peopleOf } from "../../src/faces/sign-in/people.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { adminToken, captureLog, createTenant, managementOf, openMemory, wholePages } from "../helpers.ts";

/** Claims of the people that there are, by what they enter. Anybody else has an address and no group. */
const people: Record<string, object> = {
  ann: { email: "ann@acme.com", email_verified: true, groups: ["staff", "llm-admins"] },
  bob: { email: "bob@acme.com", email_verified: true, groups: ["llm-viewers"] },
  eve: { email: "ann@acme.com", email_verified: false, groups: [] },
};

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Listens on a port of loopback. To a browser, `localhost` and `127.0.0.1` are two sites. */
export async function listen(listener: Listener, host = "127.0.0.1"): Promise<{ url: string; close(): void }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://${host}:${(server.address() as AddressInfo).port}`, close };
}

/** A private key that the provider signs with. */
async function createKey(kid: string): Promise<object> {
  const how = {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  };
  const { privateKey } = await crypto.subtle.generateKey(how, true, ["sign", "verify"]) as CryptoKeyPair;
  const { key_ops: _, ...jwk } = await crypto.subtle.exportKey("jwk", privateKey);
  return { ...jwk, kid, use: "sig", alg: "RS256" };
}

/** Keeps the provider from telling that it is for newer versions of Node, and for production not as it is here. Returns what ends that. */
function silence(): () => void {
  const { warn, info } = console;
  Object.assign(console, { warn() {}, info() {} });
  return () => void Object.assign(console, { warn, info });
}

const clientSecret = "secret-of-the-client-0123456789";

/** Starts both. `now` is how far the service's clock is ahead of the provider's, in ms. */
export async function stageProvider() {
  const stage = { ahead: 0, asked: [] as string[] };
  const speak = silence();
  const { Provider } = await import("oidc-provider");
  let answer: Listener = () => {};
  const door = await listen((request, response) => {
    stage.asked.push(`${request.method} ${request.url!.split("?")[0]}`);
    return answer(request, response);
  }, "localhost");
  const house = await listen((request, response) => serve(request, response));
  const redirectUri = `${house.url}/console/callback`;

  const keys = new Map<string, object>();

  /** Opens the provider with a key. What it knew of sessions is gone. */
  async function open(kid: string): Promise<Listener> {
    const key = keys.get(kid) ?? await createKey(kid);
    keys.set(kid, key);
    const provider: OidcProvider = new Provider(door.url, {
      clients: [{
        ...{ client_id: "prompts", client_secret: clientSecret, redirect_uris: [redirectUri] },
        post_logout_redirect_uris: [`${house.url}/console/sign-in`],
      }],
      jwks: { keys: [key] },
      cookies: { keys: ["key of the tests"] },
      scopes: ["openid", "email", "groups"],
      claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, email: `${id}@else.com`, ...people[id] }),
      }),
      // Nobody is asked whether the service may see what it asks for.
      async loadExistingGrant({ oidc: { client: { clientId }, session: { accountId } } }: Context) {
        const grant = new provider.Grant({ clientId, accountId });
        grant.addOIDCScope("openid email groups");
        await grant.save();
        return grant;
      },
    });
    return provider.callback();
  }

  answer = await open("first");
  const database = await openMemory();
  const clock = () => Date.now() + stage.ahead;
  const tenant = await createTenant(managementOf(database, clock));

  const settings = {
    ...{ ADMIN_TOKEN: adminToken, PUBLIC_URL: house.url, OIDC_ISSUER: door.url, OIDC_CLIENT_ID: "prompts" },
    ...{ OIDC_CLIENT_SECRET: clientSecret, OIDC_SCOPE: "openid email groups" },
    AUTH_ROLES: "groups:llm-admins=admin, groups:llm-viewers=viewer",
  };

  const { log, logged } = captureLog("warn");

  /** A service on the same database, with other settings. */
  function openService(changes: Record<string, string> = {}) {
    const config = readConfig({ ...settings, ...changes });
    const faces = [managementWith({ adminToken }, undefined, { people: peopleOf(config.people!) }), wholePages()];
    return serveDatabase(database, { clock, faces, log });
  }

  const service = openService();
  let serving: (request: Request) => Promise<Response> = service.fetch;
  const serve = getRequestListener((request) => serving(request), { overrideGlobalObjects: false });
  return Object.assign(stage, tenant, {
    ...{ database, service, settings, openService, issuer: door.url, url: house.url, logged },
    /** Lets another service answer at the address of this one. */
    serveBy: (fetch: typeof serving) => void (serving = fetch),
    /** Replaces the provider's answers, until `recover`. */
    break: (listener: Listener) => void (answer = listener),
    recover: async (kid: string) => void (answer = await open(kid)),
    async end() {
      house.close();
      door.close();
      await service.close();
      speak();
    },
  });
}

export type Stage = Awaited<ReturnType<typeof stageProvider>>;

/** What a browser shows: the address, and what is there. */
export type Shown = { url: string; status: number; headers: Headers; text: string };

/** A browser without pages: it keeps cookies by their paths and sites, follows redirects and `Refresh`, and sends forms. */
export function createBrowser() {
  const cookies = new Map<string, { value: string; isStrict: boolean; path: string }>();

  const keyOf = (url: URL, name: string) => `${url.host} ${name}`;

  function keep(url: URL, headers: Headers): void {
    for (const header of headers.getSetCookie()) {
      const [pair = "", ...attributes] = header.split(/; */), [name = "", ...value] = pair.split("=");
      const has = (pattern: RegExp) => attributes.find((attribute) => pattern.test(attribute));
      const path = has(/^path=/i)?.slice(5) ?? (url.pathname.replace(/\/[^/]*$/, "") || "/");
      const isOver = has(/^max-age=0$/i) !== undefined || /1970/.test(has(/^expires=/i) ?? "");
      if (isOver) cookies.delete(keyOf(url, name));
      else {cookies.set(keyOf(url, name), {
          value: value.join("="),
          isStrict: has(/^samesite=strict$/i) !== undefined,
          path,
        });}
    }
  }

  const cookieOf = (url: URL, isCrossSite: boolean): string =>
    [...cookies].flatMap(([key, { value, isStrict, path }]) => {
      const [host, name] = key.split(" ");
      return host === url.host && url.pathname.startsWith(path) && !(isStrict && isCrossSite)
        ? [`${name}=${value}`]
        : [];
    }).join("; ");

  /** Goes to an address, from a page. A redirect that began on another site stays one of that site's. */
  async function go(href: string, from?: string, form?: Record<string, string>): Promise<Shown> {
    let url = new URL(href, from), method = form === undefined ? "GET" : "POST";
    let isCrossSite = from !== undefined && new URL(from).host !== url.host;
    for (let hop = 0; hop < 15; hop++) {
      const site = isCrossSite ? "cross-site" : from === undefined ? "none" : "same-origin";
      const headers = { Cookie: cookieOf(url, isCrossSite), "Sec-Fetch-Site": site };
      const type = { "Content-Type": "application/x-www-form-urlencoded", Origin: url.origin };
      const response = await fetch(url, {
        ...{ method, redirect: "manual", headers: { ...headers, ...method === "POST" && type } },
        ...method === "POST" && { body: String(new URLSearchParams(form)) },
      });
      keep(url, response.headers);
      const text = await response.text(), location = response.headers.get("Location");
      const refresh = location === null ? response.headers.get("Refresh")?.split("url=")[1] : undefined;
      const next = location ?? refresh;
      if (next === undefined || next === null) {
        return { url: url.href, status: response.status, headers: response.headers, text };
      }
      const to = new URL(next, url);
      isCrossSite = to.host !== url.host || location !== null && isCrossSite;
      from = url.href;
      [url, method] = [to, "GET"];
    }
    throw new Error(`Too many redirects at ${url}`);
  }

  return {
    cookies,
    go,
    /** Sends the first form of a page, with more fields. */
    submit({ url, text }: Shown, fields: Record<string, string> = {}): Promise<Shown> {
      const [, action = ""] = /<form[^>]*action="([^"]*)"/.exec(text) ?? [];
      const hidden = Array.from(
        text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g),
        ([, name, value]) => [name!, value!],
      );
      return go(action.replaceAll("&amp;", "&"), url, { ...Object.fromEntries(hidden), ...fields });
    },
  };
}
