// A wrong base path: the log says which path came, and which base path the service has.
// Runs on every runtime.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createService } from "../../src/index.ts";
import type { LogFields, ServiceSettings } from "../../src/index.ts";
import { management } from "../../src/management.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`base path on ${currentRuntime}`);

type Settings = Pick<ServiceSettings, "basePath" | "faces">;

/** The warnings of a service that gets requests for these paths. It opens no database for them. */
async function warningsOf(paths: string[], settings: Settings): Promise<[message: string, fields: LogFields][]> {
  const warnings: [string, LogFields][] = [];
  const warn = (message: string, fields: LogFields = {}) => void warnings.push([message, fields]);
  const log = { debug() {}, info() {}, warn, error() {} };
  await using service = createService({ database: "file:none.db", log, ...settings });
  for (const path of paths) await service.fetch(new Request(`http://ledger.test${path}`));
  return warnings;
}

const message = "Not found: the path is outside of the base path. Set basePath to what stands before /v1 in the path";

const misfits: [path: string, basePath: ServiceSettings["basePath"], expected: string | undefined][] = [
  ["/llm/v1/prompts", "", "/llm"],
  ["/llm/v1/diagnoses/", undefined, "/llm"],
  ["/a/b/healthz", "", "/a/b"],
  ["/llm/console", "", "/llm"],
  ["/llm/admin/v1/workspaces/ws_1", "", "/llm"],
  ["/v1/prompts", "/llm", ""],
  ["/llm2/v1/usage", "/llm", "/llm2"],
  ["/llm/llm/v1/prompts", "/llm/", "/llm/llm"],
  ["/", "/llm", undefined],
  ["/favicon.ico", "/llm", undefined],
];

for (const [path, basePath, expectedBasePath] of misfits) {
  test(`a request for ${path} of a service with the base path ${basePath} is one warning, without the query`, async () => {
    const found = await warningsOf([`${path}?deployId=secret`, path], { basePath });
    assert.equal(found, [[message, { path, basePath: (basePath ?? "").replace(/\/$/, ""), expectedBasePath }]]);
  });
}

const fits: [path: string, basePath: ServiceSettings["basePath"]][] = [
  ["/llm", ""],
  ["/favicon.ico", ""],
  ["/v1/nothing", ""],
  ["/console/workspaces/v1/prompts", ""],
  ["/admin/v1/console/healthz", ""],
  ["/llm/favicon.ico", "/llm"],
  ["/console/console/", "/console"],
];

for (const [path, basePath] of fits) {
  test(`a request for ${path} of a service with the base path ${basePath} is none`, async () => {
    assert.equal(await warningsOf([path], { basePath }), []);
  });
}

test("neither keys nor tokens in a path are logged, and a long path is cut", async () => {
  const adminToken = "abc/def".repeat(5);
  const faces = [management({ adminToken })];
  const shownOf = async (path: string) => (await warningsOf([path], { basePath: "/llm", faces }))[0]![1].path;
  assert.is(await shownOf(`/a/${adminToken}/v1/prompts`), "/a/…/v1/prompts");
  assert.is(await shownOf(`/pl_${"x".repeat(50)}/v1/prompts`), "/pl_…/v1/prompts");
  assert.is(await shownOf(`/${"%22".repeat(32)}/v1/prompts`), "/…/v1/prompts");
  assert.is(String(await shownOf("/a".repeat(5_000))).length, 150);
});

test("a log that throws costs no response", async () => {
  const fail = () => {
    throw new Error("full");
  };
  const log = { debug: fail, info: fail, warn: fail, error: fail };
  await using service = createService({ database: "file:none.db", log });
  assert.is((await service.fetch(new Request("http://ledger.test/llm/healthz"))).status, 404);
});

test.run();
