// Sends a request to a user-supplied address without reaching internal ones: only https, no credentials, no redirects,
// and no address of a private network or of this machine. A name is resolved once, its addresses are checked, and the
// connection goes to one of them, even if the name changes in between.
import { Buffer } from "node:buffer";
import { lookup, Resolver } from "node:dns/promises";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";
import process from "node:process";
import { hostOf, isNamed, notPublic, urlFault } from "../../support/outbound-url.ts";
import { isDirect, optionsVia } from "../proxy.ts";

/** A request. `headers` has no Host and no Content-Length. */
export type OutboundRequest = { url: string; headers: Record<string, string>; body: string };

/** A response: `text` is its beginning, and `retryAfter` its header Retry-After. */
export type OutboundResponse = { status: number; text: string; retryAfter: string | undefined };

export type OutboundOptions = {
  /** Hosts, as in `hooks.internal` or `10.0.0.7:8080`, that may be inside, and may be reached by http. */
  allowed: readonly string[];
  /** Maximum total time in ms. */
  timeout: number;
  /** The proxy that connects, to the address that was checked. It gets only the names of `allowed` hosts. */
  proxy?: URL | undefined;
  /** Replaces the resolver of names. */
  resolve?: (name: string) => Promise<string[]>;
  /** Certificates of authorities to trust in addition to the machine's, in PEM. */
  ca?: string | undefined;
  /** Replaces the list of this machine's addresses. */
  ownAddresses?: () => string[];
};

const maxAddresses = 4; // of a name that are tried
const maxText = 1024; // characters of a response that are kept
const maxInformation = 16; // responses such as 103, before the final one. Endless ones would keep the service busy

/**
 * Error message for an address that may not be called; undefined if it may, before DNS. The text continues "The URL …".
 */
export function addressFault(text: string, allowed: readonly string[], own?: string[]): string | undefined {
  const fault = urlFault(text, allowed);
  if (fault !== undefined) return fault;
  const url = new URL(text), host = hostOf(url);
  return isIP(host) > 0 && !isNamed(url, allowed) && isInside(host, own) ? notPublic(host) : undefined;
}

/** Creates a list of subnets. */
function listOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address, bits] = subnet.split("/") as [string, string];
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
}

const familyOf = (address: string): "ipv4" | "ipv6" => address.includes(":") ? "ipv6" : "ipv4";

/** IPv6 addresses that may be public: global ones, and mapped IPv4 ones, whose IPv4 address is checked itself. */
const outside = listOf(["2000::/3", "::ffff:0:0/96"]);

// Special-purpose addresses: https://www.iana.org/assignments/iana-ipv4-special-registry and
// iana-ipv6-special-registry.
const special = listOf([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
]);

/** The addresses of this machine at this moment. */
const ownAddressesNow = (): string[] =>
  Object.values(networkInterfaces()).flatMap((each) => each ?? []).map(({ address }) => address);

/**
 * Determines whether an address is private, special, or one of this machine, whose services may trust local
 * connections. Returns true for anything that is not an address.
 */
export function isInside(address: string, ownAddresses = ownAddressesNow()): boolean {
  if (isIP(address) === 0 || address.includes("%")) return true;
  const family = familyOf(address);
  if (family === "ipv6" && !outside.check(address, family) || special.check(address, family)) return true;
  const own = new BlockList();
  for (const each of ownAddresses.filter((own) => isIP(own) > 0 && !own.includes("%"))) {
    own.addAddress(each, familyOf(each));
  }
  return own.check(address, family);
}

/** Resolves a name with the machine's resolver, which may read a hosts file. */
const lookUp = async (name: string): Promise<string[]> =>
  (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);

const queryOptions = { timeout: 2_000, tries: 2 }; // ms. The second try waits twice as long

/**
 * Asks the machine's name servers. Node's use of the machine's resolver handles only two names at once: names whose
 * servers never answer would delay others, of webhooks and of the database.
 */
async function query(name: string): Promise<string[]> {
  const resolver = new Resolver(queryOptions);
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = found.flatMap((each) => each.status === "fulfilled" ? each.value : []);
  if (addresses.length > 0) return addresses;
  const code = found.flatMap((each) => each.status === "rejected" ? String(each.reason.code) : [])[0];
  throw new Error(`${name} cannot be resolved: ${code}`);
}

/**
 * Sends a request by POST. Rejects with a readable reason if there is no response. A redirect is a response like any
 * other, and is not followed.
 */
export async function send(
  { url: text, headers, body }: OutboundRequest,
  { allowed, timeout, proxy, resolve, ca, ownAddresses = ownAddressesNow }: OutboundOptions,
): Promise<OutboundResponse> {
  const own = ownAddresses(), fault = addressFault(text, allowed, own);
  if (fault !== undefined) throw new Error(`The URL ${fault}`);
  const url = new URL(text), host = hostOf(url), isAllowed = isNamed(url, allowed);
  const resolveAll = resolve ?? (isAllowed ? lookUp : query);
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(new Error(`No response in ${timeout / 1000} s`)), timeout);
  try {
    const via = proxy === undefined || isDirect(url, process.env) ? undefined : proxy;
    // A name that may lead anywhere is left to the proxy to resolve.
    const isFinal = isIP(host) > 0 || via !== undefined && isAllowed;
    const addresses = isFinal ? [host] : await Promise.race([resolveAll(host), aborted(signal)]);
    if (addresses.length === 0) throw new Error(`${host} has no address`);
    const hidden = isAllowed ? undefined : addresses.find((address) => isInside(address, own));
    if (hidden !== undefined) throw new Error(`${host} ${notPublic(hidden)}`);
    // A machine may have no route to some of them, most often to those of IPv6.
    const [first, ...others] = addresses.sort((a, b) => isIP(a) - isIP(b)).slice(0, maxAddresses);
    const sendTo = (address: string) => exchange({ url, host, address, headers, body, ca, via }, signal);
    return await others.reduce(
      (sent, address) =>
        sent.catch((error: unknown) => {
          if (signal.aborted || !isUnreached(error)) throw error;
          return sendTo(address);
        }),
      sendTo(first!),
    );
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** True if no connection was made, so nothing was sent. */
const isUnreached = (error: unknown): boolean =>
  error instanceof Error && "code" in error &&
  ["ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL"].includes(String(error.code));

type Exchange = {
  url: URL;
  host: string;
  address: string;
  headers: Record<string, string>;
  body: string;
  ca: string | undefined;
  via: URL | undefined;
};

/**
 * Sends a request to an address, even if its name resolves elsewhere by now, and reads the beginning of the response.
 */
async function exchange(
  { url, host, address, headers, body, ca, via }: Exchange,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  const proxied = via === undefined ? { agent: false } : await optionsVia(via, url, { address, ca }, signal);
  return await new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let giveUp = () => reject(signal.reason);
    const isSecure = url.protocol === "https:";
    const request = (isSecure ? requestHttps : requestHttp)({
      host: address,
      port: url.port || (isSecure ? 443 : 80),
      path: url.pathname + url.search,
      method: "POST",
      ...proxied,
      headers: {
        ...{ ...headers, Host: url.host, "Content-Length": String(Buffer.byteLength(body)), Connection: "close" },
        ...proxied.headers,
      },
      // The certificate must match the name, though the connection goes to an address.
      ...isSecure ? { servername: isIP(host) > 0 ? "" : host, ...ca === undefined ? {} : { ca } } : {},
    }, (response) => {
      let text = "";
      const end = () => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, text: text.slice(0, maxText), retryAfter: headers["retry-after"] });
        request.destroy();
      };
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        if (text.length >= maxText) end();
      });
      response.on("end", end);
      response.on("error", end);
      // The status suffices, even if the rest is faulty or never arrives.
      request.off("error", reject).on("error", end);
      giveUp = end;
    });
    let information = 0;
    request.on("information", () => {
      if (++information > maxInformation) request.destroy(new Error("Too many responses with a status below 200"));
    });
    request.on("error", reject);
    signal.addEventListener("abort", () => {
      giveUp();
      request.destroy();
    });
    request.end(body);
  });
}
