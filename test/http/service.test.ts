// Runs on every runtime.
import { writeFile } from "node:fs/promises";
import { createClient } from "@libsql/client";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { consolePages } from "../../src/console.ts";
import { createService, Refusal } from "../../src/index.ts";
import type { ServiceOptions } from "../../src/index.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { management } from "../../src/management.ts";
import { openapi } from "../../src/openapi.ts";
import { createFolder } from "../conformance/processes.ts";
import { createTenant, managementOf, noon, openMemory, readAnswer } from "../helpers.ts";

const test = suite("createService");

test("mounts under a base path, and answers 404 to other paths", async () => {
  const database = await openMemory();
  const { key, deployId } = await createTenant(managementOf(database, Date.now));
  const service = serveDatabase(database, { basePath: "/tools/llm" });
  const get = async (path: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    return (await service.fetch(new Request(`https://example.com${path}?deployId=${deployId}`, { headers }))).status;
  };
  assert.is(await get("/tools/llm/v1/prompts"), 200);
  assert.is(await get("/v1/prompts"), 404);
  assert.is(await get("/other/v1/prompts"), 404);
  assert.is(await get("/tools/llm/v1"), 404);
});

test("takes a location, a clock and a log, and answers 500 and logs the cause if the database was not migrated", async () => {
  const folder = await createFolder();
  await writeFile(`${folder.path}/ledger.db`, "");
  const logged: string[] = [];
  const write = (message: string) => void logged.push(message);
  const log = { debug: write, info: write, warn: write, error: write };
  const service = createService({ database: { url: `file:${folder.path}/ledger.db` }, clock: () => noon, log });
  const { key } = await createTenant(managementOf(await openMemory()));
  const headers = { Authorization: `Bearer ${key}` };
  const answer = await readAnswer(
    await service.fetch(new Request("https://example.com/v1/prompts?deployId=x", { headers })),
  );
  assert.equal([answer.status, answer.json, logged], [500, { error: "Internal server error" }, ["Request"]]);
  await service.close();
  await folder.remove();
});

const pino = Object.fromEntries(["debug", "info", "warn", "error", "child"].map((name) => [name, () => {}]));

const nobodySignsIn = "consolePages() needs management({ adminToken }) or management({ tokens: true }) beside it: " +
  "adminToken is undefined and tokens is not true, so nobody can sign in";

const unusable: [name: string, options: object | undefined, error: string][] = [
  ["no options", undefined, "createService needs an options object"],
  ["no store", { database: undefined }, "Give either a database or a client"],
  ["two stores", { client: createClient({ url: ":memory:" }) }, "Give either a database or a client"],
  ["a client that is none", { database: undefined, client: {} }, "client must be a client of @libsql/client"],
  ["a database in memory", { database: ":memory:" }, "database must be a file:, http:, https: or libsql: URL"],
  ["a database in memory by its URL", { database: { url: "file::memory:" } }, "database must name a file"],
  [
    "another database",
    { database: "postgres://localhost/x" },
    "database must be a file:, http:, https: or libsql: URL",
  ],
  ["a database of another type", { database: 7 }, "database must be a URL, or an object with url"],
  [
    "an unknown option",
    { adminTokens: [] },
    "Unknown option adminTokens of createService. Allowed: database, client, ",
  ],
  ["options in a list", [{ database: "file:ledger.db" }], "createService needs an options object"],
  [
    "an unknown option of a database",
    { database: { url: "http://localhost", token: "secret" } },
    "Unknown option token of database. Allowed: url, authToken",
  ],
  ["a URL of another type", { database: { url: new URL("http://localhost") } }, "url must be a string"],
  ["a token of another type", { database: { url: "http://localhost", authToken: 1 } }, "authToken must be a string"],
  ["a face that is not in a list", { faces: management() }, "faces must be an array of faces"],
  ["a function that makes a face", { faces: [management] }, "faces must be an array of faces"],
  ["two faces of a kind", { faces: [management(), openapi(), management()] }, "faces has management() twice"],
  [
    "a console without management",
    { faces: [openapi(), consolePages()] },
    "consolePages() needs management() beside it",
  ],
  ["a console that nobody can sign in to", { faces: [management(), consolePages()] }, nobodySignsIn],
  [
    "a console whose admin token is not set",
    { faces: [consolePages(), management({ adminToken: undefined as string | undefined, tokens: false })] },
    nobodySignsIn,
  ],
  ["a base path without a slash", { basePath: "llm" }, "basePath must be a path such as /llm"],
  ["a base path with a segment that goes up", { basePath: "/a/../b" }, "basePath must be a path such as /llm"],
  ["a base path with a segment that stays", { basePath: "/a/." }, "basePath must be a path such as /llm"],
  ["a base path with a bracket", { basePath: "/a(b" }, "basePath must be a path such as /llm"],
  ["a body limit of another type", { maxBodyBytes: "1mb" }, "maxBodyBytes must be a positive integer"],
  [
    "a body that no server takes",
    { database: "http://localhost", maxBodyBytes: 3_000_000 },
    "maxBodyBytes must be at most 2097152 on this database",
  ],
  [
    "a budget below a body",
    { bodyBudgetBytes: 10, maxBodyBytes: 11 },
    "bodyBudgetBytes must be at least maxBodyBytes, which is 11",
  ],
  [
    "a budget below the default of a body",
    { bodyBudgetBytes: 1_048_575 },
    "bodyBudgetBytes must be at least maxBodyBytes, which is 1048576",
  ],
  ["no time for a body", { bodyTimeout: 0 }, "bodyTimeout must be from 1 to 2147483647 milliseconds"],
  ["no time for a response", { stallTimeout: "1s" }, "stallTimeout must be from 1 to 2147483647 milliseconds"],
  ["all the time for a body", { bodyTimeout: Infinity }, "bodyTimeout must be from 1 to 2147483647 milliseconds"],
  [
    "a token that is too short",
    { metricsToken: "secret" },
    "metricsToken must be at least 32 printable ASCII characters",
  ],
  ["a clock that stands still", { clock: 1 }, "clock must be a function that returns Unix milliseconds"],
  ["origins that are none", { corsOrigins: "https://a.test" }, "corsOrigins must be * or origins"],
  ["a log that is none", { log: console.log }, "log must have the functions debug, info, warn and error"],
  ["a log of pino's", { log: pino }, "log must take (message, fields): wrap a logger such as pino in fromPino"],
];

for (const [name, options, error] of unusable) {
  test(`refuses ${name} at once`, () => {
    const given = options === undefined || Array.isArray(options)
      ? options
      : { database: "file:ledger.db", ...options };
    const opened = () => createService(given as ServiceOptions);
    assert.throws(opened, (thrown: Error) => thrown instanceof Refusal && thrown.message.startsWith(error));
  });
}

const wrongFaces: [name: string, make: () => object, error: string][] = [
  [
    "management",
    () => management({ token: true } as object),
    "Unknown option token of management. Allowed: adminToken, tokens",
  ],
  ["management", () => management({ tokens: "true" as never }), "tokens must be true or false"],
  ["management", () => management({ adminToken: 7 as never }), "adminToken must be a string"],
  ["management", () => management("secret" as never), "management needs an options object"],
  ["management", () => management(null as never), "management needs an options object"],
  ["consolePages", () => consolePages({ title: "x" } as never), "Unknown option title of consolePages. Allowed: none"],
  ["openapi", () => openapi({ title: "x" } as never), "Unknown option title of openapi. Allowed: none"],
];

for (const [name, make, error] of wrongFaces) {
  test(`${name} refuses wrong options at once: ${error}`, () => {
    assert.throws(make, (thrown: Error) => thrown instanceof Refusal && thrown.message === error);
  });
}

test("options that are undefined count as left out", () => {
  management({ adminToken: undefined, tokens: undefined });
});

test.run();
