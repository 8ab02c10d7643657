// What a service sends to an address that somebody named reaches nothing inside.
// Runs on every runtime.
import { readFile } from "node:fs/promises";
import { createServer as createHttp } from "node:http";
import type { RequestListener, Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp } from "node:net";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { notPublic } from "../../src/support/outbound-url.ts";
import { addressFault, isInside, send } from "../../src/runtime/serving/outbound.ts";
import { pathOf } from "../runtimes.ts";

const test = suite("outbound");

const name = "hooks.promptledger.dev";
const cert = await readFile(pathOf("test/runtime/receiver-cert.pem"), "utf8");
const key = await readFile(pathOf("test/runtime/receiver-key.pem"), "utf8");

async function listening(server: Server): Promise<{ port: number; close(): void }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Sends to a receiver of https, whose name leads to this machine. */
async function sendTo(
  answer: RequestListener,
  { timeout = 60_000, host = name, ca = cert, addresses = ["127.0.0.1"] } = {},
) {
  let resolved = 0;
  const { port, close } = await listening(createHttps({ cert, key }, answer));
  const request = { url: `https://${host}:${port}/hook?a=1`, headers: { "X-Test": "1" }, body: '{"a":"ü"}' };
  try {
    return await send(request, {
      ...{ allowed: [host], timeout, ca },
      resolve: () => Promise.resolve(resolved++ === 0 ? addresses : ["127.0.0.9"]),
    });
  } finally {
    assert.is(resolved, 1, "a name is resolved once, so that it cannot change after it was checked");
    close();
  }
}

const rejection = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => "sent", (error: Error) => error.message);

test("sends to the address that was checked, and the certificate must be one of the name", async () => {
  const seen: unknown[] = [];
  const response = await sendTo((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part) => body += part).on("end", () => {
      const { method, url, headers } = request;
      seen.push({ method, url, body, host: headers.host!.replace(/\d+/, "PORT"), length: headers["content-length"] });
      response.writeHead(201, { "Retry-After": "7" }).end("stored");
    });
  });
  assert.equal(response, { status: 201, text: "stored", retryAfter: "7" });
  assert.equal(seen, [{ method: "POST", url: "/hook?a=1", body: '{"a":"ü"}', host: `${name}:PORT`, length: "10" }]);
  assert.is.not(await rejection(sendTo((_, response) => response.end(), { host: "other.promptledger.dev" })), "sent");
  assert.is.not(await rejection(sendTo((_, response) => response.end(), { ca: "" })), "sent");
});

test("keeps the first kB of a response without end, follows no redirect, and gives up in time", async () => {
  const endless = await sendTo((_, response) => {
    response.writeHead(500);
    const timer = setInterval(() => response.write("x".repeat(4096)), 1);
    response.on("close", () => clearInterval(timer));
  });
  assert.equal([endless.status, endless.text], [500, "x".repeat(1024)]);
  const moved = await sendTo((_, response) => response.writeHead(302, { Location: "https://127.0.0.1/" }).end());
  assert.is(moved.status, 302);
  assert.is(await rejection(sendTo(() => {}, { timeout: 50 })), "No response in 0.05 s");
});

test("gives up on endless responses that announce another one", async () => {
  const announcing: RequestListener = (_, response) => {
    const timer = setInterval(() => response.writeProcessing(), 1);
    response.on("close", () => clearInterval(timer));
  };
  assert.match(await rejection(sendTo(announcing)), /^Too many responses with a status below 200$/);
});

test("a status counts, whatever is wrong with what follows it", async () => {
  const answers: [answer: string, status: number, timeout?: number][] = [
    ["HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nand nothing more", 202, 1_000],
    ["HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\ntaken", 204],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n", 200],
    ["HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\ncut", 500],
  ];
  for (const [answer, status, timeout] of answers) {
    const server = createTcp((socket) =>
      void socket.on("error", () => {}).once("data", () => timeout ? socket.write(answer) : socket.end(answer))
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const sent = send({ url, headers: {}, body: "" }, { allowed: ["127.0.0.1"], timeout: timeout ?? 60_000 });
    assert.is((await sent).status, status, answer);
    server.close();
  }
});

test("tries the next address of a name if one cannot be reached", async () => {
  const answer: RequestListener = (_, response) => response.end("here");
  for (const addresses of [["127.0.0.2", "127.0.0.3", "127.0.0.1"], ["::1", "127.0.0.1"]]) {
    assert.is((await sendTo(answer, { addresses })).text, "here");
  }
  assert.is.not(await rejection(sendTo(answer, { addresses: ["127.0.0.2", "127.0.0.3"] })), "sent");
});

const forbidden = [
  "https://localhost/",
  "https://LOCALHOST./",
  "https://app.localhost/",
  "https://printer.local/",
  "https://vault.internal/",
  "https://intranet/",
  "https://metadata.google.internal/computeMetadata/v1/",
  "https://127.0.0.1/",
  "https://127.1/",
  "https://0x7f.1/",
  "https://0x7f000001/",
  "https://2130706433/",
  "https://017700000001/",
  "https://0177.0.0.1/",
  "https://１２７.0.0.1/",
  "https://127。0。0。1/",
  "https://127.0.0.1./",
  "https://%31%32%37.0.0.1/",
  "https://0/",
  "https://0.0.0.0/",
  "https://10.0.0.1/",
  "https://172.31.255.255/",
  "https://192.168.1.1/",
  "https://169.254.169.254/latest/meta-data/",
  "https://0xa9fea9fe/",
  "https://100.64.0.1/",
  "https://198.18.0.1/",
  "https://224.0.0.1/",
  "https://255.255.255.255/",
  "https://[::1]/",
  "https://[::]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[::ffff:a9fe:a9fe]/",
  "https://[::127.0.0.1]/",
  "https://[64:ff9b::10.0.0.1]/",
  "https://[64:ff9b::a00:1]/",
  "https://[2002:7f00:1::]/",
  "https://[2001:0:7f00:1::]/",
  "https://[fe80::1]/",
  "https://[fc00::1]/",
  "https://[fd00:ec2::254]/",
  "https://[ff02::1]/",
  "http://example.com/",
  "file:///etc/passwd",
  "gopher://example.com/",
  "https://user@example.com/",
  "https://user:secret@example.com/",
  "https://8.8.8.8@127.0.0.1/",
  "//example.com/",
  "example.com",
];

for (const url of forbidden) {
  test(`sends nothing to ${url}`, async () => {
    assert.type(addressFault(url, []), "string");
    const resolve = () => Promise.reject(new Error("it is not even resolved"));
    assert.match(
      await rejection(send({ url, headers: {}, body: "" }, { allowed: [], timeout: 60_000, resolve })),
      /^The URL /,
    );
  });
}

test("sends nothing to a name that leads inside, be it by one of its addresses", async () => {
  const options = { allowed: ["10.0.0.7:8080"], timeout: 60_000 };
  const to = (...addresses: string[]) =>
    rejection(
      send({ url: "https://example.com/", headers: {}, body: "" }, {
        ...options,
        resolve: () => Promise.resolve(addresses),
      }),
    );
  assert.is(
    await to("127.0.0.1"),
    "example.com leads to 127.0.0.1, which is no public address. To allow it, name the host of the URL in WEBHOOK_ALLOW",
  );
  assert.is(await to("93.184.216.34", "10.0.0.7"), `example.com ${notPublic("10.0.0.7")}`);
  assert.is(await to("::ffff:10.0.0.7"), `example.com ${notPublic("::ffff:10.0.0.7")}`);
  assert.is(await to("fe80::1%eth0"), `example.com ${notPublic("fe80::1%eth0")}`);
  assert.is(await to(), "example.com has no address");
});

/**
 * Every block of IANA's registries of special-purpose addresses on 2026-11-27: iana-ipv4-special-registry and
 * iana-ipv6-special-registry. With multicast, and what was unique to sites.
 */
const specialBlocks = [
  ...["0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32"],
  ...["192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32"],
  ...["192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4"],
  ...["240.0.0.0/4", "255.255.255.255/32"],
  ...["::1/128", "::/128", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64"],
  ...["200::/7", "2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48"],
  ...["2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16"],
  ...["2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"],
];

/** The number of an address, which may have `::`. */
function numberOf(address: string): bigint {
  if (!address.includes(":")) return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const [head = "", tail = ""] = address.split("::");
  const groupsOf = (text: string) => text === "" ? [] : text.split(":");
  const before = groupsOf(head), after = groupsOf(tail);
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => "0"), ...after];
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

const hexGroups = (address: bigint): string =>
  Array.from({ length: 8 }, (_, nth) => ((address >> BigInt(112 - nth * 16)) & 0xffffn).toString(16)).join(":");

const dotted = (address: bigint): string =>
  Array.from({ length: 4 }, (_, nth) => String((address >> BigInt(24 - nth * 8)) & 0xffn)).join(".");

/** An address of IPv6 in the forms that programs write, with an IPv4 tail too. */
const formsOf = (address: bigint): string[] => [
  hexGroups(address),
  new URL(`https://[${hexGroups(address)}]/`).hostname.slice(1, -1),
  hexGroups(address).toUpperCase(),
  `${hexGroups(address).split(":").slice(0, 6).join(":")}:${dotted(address & 0xffff_ffffn)}`,
];

const v6 = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });

test("no block that IANA reserves is public, in whatever form its addresses are written", () => {
  for (const block of specialBlocks) {
    const [start, bits] = block.split("/") as [string, string];
    const isV6 = block.includes(":"), free = BigInt((isV6 ? 128 : 32) - Number(bits));
    const first = numberOf(start), last = first + (1n << free) - 1n;
    fc.assert(
      fc.property(fc.bigInt({ min: first, max: last }), (between) => {
        for (const address of [first, between, last]) {
          for (const form of isV6 ? formsOf(address) : [dotted(address), ...formsOf(0xffff_0000_0000n + address)]) {
            assert.ok(isInside(form), `${form} of ${block}`);
          }
        }
      }),
      { numRuns: 20 },
    );
  }
});

test("outside of 2000::/3 only what means a public address of IPv4 is public", () => {
  fc.assert(fc.property(v6, (address) => {
    if (address >> 125n === 1n || address >> 32n === 0xffffn) return;
    for (const form of formsOf(address)) assert.ok(isInside(form), form);
  }));
  for (const address of ["::ffff:0:7f00:1", "200::1", "3ff:ffff::1", "100:0:0:1::1", "4000::1", "::ffff:0:808:808"]) {
    assert.ok(isInside(address), address);
  }
});

test("an address of this machine is inside, although it is a public one", async () => {
  const own = ["93.184.216.34", "2606:2800:220:1::1"];
  for (const address of [...own, "::ffff:93.184.216.34", "::ffff:5db8:d822", "2606:2800:220:1:0:0:0:1"]) {
    assert.ok(isInside(address, own), address);
    assert.not(isInside(address, []), address);
  }
  assert.not(isInside("93.184.216.35", own));
  const interfaces = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  for (const { address } of interfaces) assert.ok(isInside(address), address);
  const options = { allowed: [], timeout: 60_000, ownAddresses: () => own };
  const sent = (url: string, addresses: string[]) =>
    rejection(send({ url, headers: {}, body: "" }, { ...options, resolve: () => Promise.resolve(addresses) }));
  assert.is(await sent("https://example.com/", [own[1]!]), `example.com ${notPublic(own[1]!)}`);
  assert.is(await sent(`https://[${own[1]}]/`, []), `The URL ${notPublic(own[1]!)}`);
});

test("public addresses are not inside, and settings allow others", async () => {
  for (const address of ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"]) {
    assert.not(isInside(address), address);
  }
  const allowed = ["hooks.internal", "10.0.0.7:8080"];
  for (const url of ["http://hooks.internal/x", "https://hooks.internal:99/", "http://10.0.0.7:8080/"]) {
    assert.is(addressFault(url, allowed), undefined, url);
  }
  for (const url of ["http://10.0.0.7/", "https://a.hooks.internal/", "ftp://hooks.internal/"]) {
    assert.type(addressFault(url, allowed), "string", url);
  }
  const { port, close } = await listening(createHttp((_, response) => response.end("plain")));
  const url = `http://127.0.0.1:${port}/`;
  const { text } = await send({ url, headers: {}, body: "" }, { allowed: [`127.0.0.1:${port}`], timeout: 60_000 });
  close();
  assert.is(text, "plain");
});

test.run();
