// People by a signed header at a started service, whose settings say where the keys are: on the runtime that runs the tests, and in
// CI on workerd. Headers that come twice are what each runtime makes of them.
// Runs on every runtime.
import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../../src/migrate.ts";
import { createFolder, memoryOf, startService, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { startWorker } from "../conformance/workerd.ts";
import { adminToken } from "../helpers.ts";
import { createSigner, signNothing, signWithText } from "../http/identity.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`people at a service on ${currentRuntime}`);

const folder = await createFolder();
const signers = await Promise.all((["RS256", "ES256", "EdDSA"] as const).map((alg) => createSigner(alg, alg)));
const provider = createServer((_, response) =>
  response.writeHead(200, { "Content-Type": "application/json" }).end(
    JSON.stringify({ keys: signers.map(({ jwk }) => jwk) }),
  )
);
await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
const settings = {
  AUTH_JWKS_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/certs`,
  ...{ AUTH_ISSUER: "https://acme.example", AUTH_AUDIENCE: "prompts", AUTH_API: "true" },
  ...{ AUTH_ROLES: "groups:llm-admins=admin", ADMIN_TOKEN: adminToken, LOG_LEVEL: "info" },
};
test.after(async () => {
  provider.close();
  await folder.remove();
});

/** The status of a response to a request with these lines of headers, byte for byte. */
function statusOf(url: string, lines: readonly string[]): Promise<number> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let received = "";
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      received += text;
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(received) ?? [];
      if (status === undefined) return;
      socket.destroy();
      resolve(Number(status));
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`No status: ${received}`)));
    socket.write(["GET /admin/v1/workspaces HTTP/1.1", `Host: ${host}`, ...lines, "", ""].join("\r\n"));
  });
}

/** Signs in, and tries to, at a service that takes tokens in a header. */
async function tries(url: string, header: string): Promise<void> {
  const prefix = header === "Authorization" ? "Bearer " : "";
  const line = (token: string) => `${header}: ${prefix}${token}`;
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: settings.AUTH_ISSUER, aud: settings.AUTH_AUDIENCE, exp: now + 3600, groups: ["llm-admins"] };
  const ann = { ...claims, email: "ann@acme.com" };
  for (const signer of signers) assert.is(await statusOf(url, [line(await signer.sign({}, ann))]), 200, signer.kid);
  const [signer] = signers as [typeof signers[0]];
  const good = await signer.sign({}, ann), stranger = await createSigner("RS256", signer.kid);
  const refused: string[][] = [
    [line(await stranger.sign({}, ann))],
    [line(signNothing(ann))],
    [line(await signWithText(JSON.stringify(signer.jwk), { kid: signer.kid }, ann))],
    [line(await signer.sign({}, { ...ann, exp: now - 120 }))],
    [line(await signer.sign({}, { ...ann, iss: "https://evil.example" }))],
    [line(await signer.sign({}, { ...ann, aud: "other" }))],
    [line(good), line(good)],
    [line(await stranger.sign({}, ann)), line(good)],
    [line(good), line(await stranger.sign({}, ann))],
    ["X-Forwarded-User: ann@acme.com", "X-Forwarded-Email: ann@acme.com"],
    [],
  ];
  for (const lines of refused) assert.is(await statusOf(url, lines), 401, lines.join("\n"));
  assert.is(await statusOf(url, [line(await signer.sign({}, { ...ann, groups: [] }))]), 403);
}

for (const header of ["Authorization", "Cf-Access-Jwt-Assertion"]) {
  test(`a service takes signed tokens in ${header}, and neither two headers nor forged ones`, async () => {
    const DATABASE_URL = `file:${folder.path}/${header}.db`;
    const service = await startService(currentRuntime, { ...settings, AUTH_JWT_HEADER: header, DATABASE_URL });
    await tries(service.url, header).finally(() => service.stop("SIGKILL"));
  });
}

/** How a provider, or what stands in its place, keeps a service waiting or busy. */
const nuisances: Record<string, (response: ServerResponse) => void> = {
  "nothing at all": () => {},
  "a byte now and then": (response) => {
    const timer = setInterval(() => response.write(" "), 100);
    response.on("close", () => clearInterval(timer));
  },
  "no end": (response) => {
    const send = () => {
      while (response.write(" ".repeat(65_536)));
      response.once("drain", send);
    };
    send();
  },
  "much in little": (response) => {
    response.setHeader("Content-Encoding", "gzip");
    response.end(gzipSync(Buffer.alloc(100_000_000, 32)));
  },
};

for (const [nuisance, answer] of Object.entries(nuisances)) {
  test.full(`a service asks a provider whose answer is ${nuisance} for five seconds, and serves meanwhile`, async () => {
    const hostile = createServer((_, response) => answer(response.setHeader("Content-Type", "application/json")));
    await new Promise<void>((resolve) => hostile.listen(0, "127.0.0.1", resolve));
    const service = await startService(currentRuntime, {
      ...{ ...settings, AUTH_JWKS_URL: `http://127.0.0.1:${(hostile.address() as AddressInfo).port}/certs` },
      ...{ AUTH_JWT_HEADER: "X-Jwt", DATABASE_URL: `file:${folder.path}/${nuisance}.db` },
    });
    try {
      const began = performance.now();
      const asked = fetch(`${service.url}/admin/v1/workspaces`, {
        headers: { "X-Jwt": await signers[0]!.sign({}, { iss: settings.AUTH_ISSUER, aud: settings.AUTH_AUDIENCE }) },
      });
      assert.is((await fetch(`${service.url}/healthz`)).status, 200);
      const { status } = await asked;
      assert.equal([status, performance.now() - began < 8_000], [503, true]);
      const memory = await memoryOf(service.pid, "VmHWM");
      assert.ok(memory === null || memory < 300, `${memory} MB`);
    } finally {
      hostile.closeAllConnections();
      hostile.close();
      await service.stop("SIGKILL");
    }
  });
}

const sqld = isFull && currentRuntime === "Node" ? await findSqld() : undefined;

if (sqld !== undefined && "binary" in sqld) {
  test.full("so does a Worker on workerd", async () => {
    const server = await startSqld(sqld.binary, `${folder.path}/data`);
    await migrate(server.url);
    const AUTH_JWT_HEADER = "Cf-Access-Jwt-Assertion";
    const bindings = { ...settings, AUTH_JWT_HEADER, DATABASE_URL: server.url };
    const worker = await startWorker("src/worker.ts", `${folder.path}/worker`, bindings);
    await tries(worker.url, AUTH_JWT_HEADER).finally(async () => {
      await worker.stop("SIGKILL");
      await server.stop("SIGKILL");
    });
  });
}

test.run();
