// Requests through a proxy. An https request uses a tunnel, in which the proxy sees neither the request nor the
// response.
import { Buffer } from "node:buffer";
import { request as requestHttp } from "node:http";
import type { RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, connect, isIP } from "node:net";
import type { Socket } from "node:net";
import process from "node:process";
import { Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { hostOf } from "../support/outbound-url.ts";
import { readProxyUrl } from "../support/proxy-url.ts";

type Environment = Record<string, string | undefined>;

/**
 * The proxy of the environment for a URL. Lower-case variables take precedence, as in curl. Loopback hosts never use
 * one.
 */
export function findProxy(url: URL, env: Environment): URL | undefined {
  const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const text = env[name.toLowerCase()] || env[name];
  return !text || isDirect(url, env) ? undefined : readProxyUrl(name, text);
}

const loopback = /^(localhost|.+\.localhost|127(\.\d+){3}|::1)$/;

/**
 * Determines if NO_PROXY names the host of a URL: by a domain, an address or a range of them, with or without a port.
 */
export function isDirect(url: URL, env: Environment): boolean {
  const host = hostOf(url), port = String(portOf(url));
  if (loopback.test(host)) return true;
  return (env.no_proxy || env.NO_PROXY || "").toLowerCase().split(/[\s,]+/).filter(Boolean).some((entry) => {
    const [, name = "", ownPort] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) > 0 ? `[${entry}]` : entry) ?? [];
    if (ownPort !== undefined && ownPort !== port) return false;
    if (name.includes("/")) return isInRange(host, name);
    const domain = name.replace(/^\*?\./, "");
    return name === "*" || host === domain || domain !== "" && host.endsWith(`.${domain}`);
  });
}

function isInRange(host: string, range: string): boolean {
  const [start = "", bits] = range.split("/"), familyOf = (address: string) => isIP(address) === 6 ? "ipv6" : "ipv4";
  const isRange = isIP(start) > 0 && /^\d{1,3}$/.test(bits ?? "") && Number(bits) <= (isIP(start) === 6 ? 128 : 32);
  if (!isRange || isIP(host) === 0) return false;
  const list = new BlockList();
  list.addSubnet(start, Number(bits), familyOf(start));
  return list.check(host, familyOf(host));
}

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === "https:" ? 443 : 80));

const maxHead = 16_384; // characters of a proxy's response head

/**
 * The options of a request that goes through a proxy to an address: for https a tunnel to it, and for http the whole
 * URL. Rejects with the reason of the signal if that aborts.
 */
export async function optionsVia(
  proxy: URL,
  url: URL,
  { address, ca }: { address: string; ca?: string | undefined },
  signal: AbortSignal,
): Promise<RequestOptions> {
  if (url.protocol === "http:") {
    return { host: hostOf(proxy), port: portOf(proxy), path: url.href, headers: authorizationOf(proxy), agent: false };
  }
  const target = `${isIP(address) === 6 ? `[${address}]` : address}:${portOf(url)}`, host = hostOf(url);
  const socket = await openTunnel(proxy, target, signal);
  const secure = connectTls({ socket, servername: nameOf(host), ...ca === undefined ? {} : { ca } });
  await during(secure, signal, (resolve) => void secure.once("secureConnect", resolve));
  return { createConnection: () => secure };
}

/** The name to check in a certificate. Empty for an address. */
const nameOf = (host: string): string => isIP(host) > 0 ? "" : host;

/** The proxy's own user name and password. */
function authorizationOf({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "Proxy-Authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}

/** Connects to a proxy, which connects to a host and a port. */
async function openTunnel(proxy: URL, target: string, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(proxy), port = portOf(proxy), isSecure = proxy.protocol === "https:";
  const socket = isSecure ? connectTls({ host, port, servername: nameOf(host) }) : connect({ host, port });
  await during(socket, signal, (resolve) => void socket.once(isSecure ? "secureConnect" : "connect", resolve));
  const headers = Object.entries({ Host: target, ...authorizationOf(proxy) });
  socket.write(`CONNECT ${target} HTTP/1.1\r\n${headers.map((header) => `${header.join(": ")}\r\n`).join("")}\r\n`);
  const head = await during<string>(socket, signal, (resolve, reject) => {
    let text = "";
    socket.on("data", (bytes: Uint8Array) => {
      text += Buffer.from(bytes).toString("latin1");
      // Nothing follows the head, as the server in a tunnel waits for the client.
      if (text.endsWith("\r\n\r\n")) resolve(text);
      else if (text.length > maxHead) reject(notHttp(host));
    });
  });
  socket.pause().removeAllListeners("data");
  const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(head) ?? [];
  if (status?.startsWith("2")) return socket;
  socket.destroy();
  if (status === undefined) throw notHttp(host);
  throw Object.assign(new Error(`The proxy ${host} answered CONNECT with ${status}`), { code: "EHOSTUNREACH" });
}

const notHttp = (host: string) => new Error(`${host} does not answer as a proxy does`);

/** Waits for something on a socket, which ends with a failure or when the signal aborts. */
function during<T = void>(
  socket: Socket,
  signal: AbortSignal,
  wait: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
): Promise<T> {
  let abort = () => {};
  return new Promise<T>((resolve, reject) => {
    signal.throwIfAborted();
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
    socket.once("error", reject).once("close", () => reject(new Error("The proxy closed the connection")));
    wait(resolve, reject);
  }).catch((error: unknown) => {
    socket.destroy();
    throw error;
  }).finally(() => signal.removeEventListener("abort", abort));
}

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;

/**
 * `fetch` with the proxies of the environment, on Node as on Bun and Deno. It does not follow redirects through a
 * proxy.
 */
export const outgoingFetch: typeof fetch = isNode
  ? async (input, init) => {
    const proxy = input instanceof Request ? undefined : findProxy(new URL(input), process.env);
    return await (proxy === undefined ? fetch(input, init) : fetchVia(proxy, new Request(input, init)));
  }
  : fetch;

const hasNoBody = new Set([204, 205, 304]); // statuses

/** Sends a request through a proxy. */
export async function fetchVia(proxy: URL, request: Request): Promise<Response> {
  const { method, headers, signal } = request, url = new URL(request.url);
  const body = new Uint8Array(await request.arrayBuffer());
  const via = await optionsVia(proxy, url, { address: hostOf(url) }, signal);
  return await new Promise((resolve, reject) => {
    const sent = (url.protocol === "https:" ? requestHttps : requestHttp)({
      ...{ host: hostOf(url), port: portOf(url), path: url.pathname + url.search, method, ...via },
      headers: {
        ...{ ...Object.fromEntries(headers), "Accept-Encoding": "identity", Connection: "close", Host: url.host },
        ...method === "GET" || method === "HEAD" ? {} : { "Content-Length": String(body.length) },
        ...via.headers,
      },
    }, (response) => {
      const { statusCode: status = 0, rawHeaders } = response, received = new Headers();
      for (let at = 0; at < rawHeaders.length; at += 2) received.append(rawHeaders[at]!, rawHeaders[at + 1]!);
      try {
        const content = hasNoBody.has(status) ? null : Readable.toWeb(response) as ReadableStream<Uint8Array>;
        resolve(new Response(content, { status, headers: received }));
      } catch (error) {
        // Some statuses are invalid for a Response.
        response.destroy();
        reject(error);
      }
      signal.addEventListener("abort", () => response.destroy(signal.reason));
    });
    signal.addEventListener("abort", () => sent.destroy(signal.reason));
    sent.on("error", reject).end(body);
  });
}
