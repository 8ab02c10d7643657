// The management API over HTTP: authentication, paths and methods, and how input is read.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { impliedRefusals } from "../../src/faces/management-openapi.ts";
import { operations } from "../../src/management/index.ts";
import type { AnyOperation } from "../../src/management/kernel/operation.ts";
import { createApiKey, revokeApiKey } from "../actions.ts";
import { newApiKey } from "../../src/common/ids.ts";
import { management } from "../../src/management.ts";
import { serveDatabase } from "../../src/service/service.ts";
import type { ServiceSettings } from "../../src/service/service.ts";
import { adminToken, createTenant, createWorld, promptFile, readAnswer, withManagement } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { refused, taken } from "../management/management.ts";

const test = suite("management over HTTP");

const world = await createWorld({ monthlyLimit: 1e6 });
const recordId = taken<{ id: string }>(await world.submit(), 201).id;

/** The path of an operation, with existing ids. */
function pathOf({ id, path }: AnyOperation, { workspaceId, keyId, promptId, deployId }: World = world): string {
  const named: Record<string, string> = {
    workspaceId,
    deployId,
    month: "2026-11",
    version: "1",
    id: /Workspace/.test(id) ? workspaceId : /Key/.test(id) ? keyId : /Diagnosis/.test(id) ? recordId : "",
  };
  named.id ||= path.startsWith("/prompts") ? promptId : deployId;
  return path.replace(/{(\w+)}/g, (_, name) => named[name]!);
}

const hasBody = ({ method }: AnyOperation) => method === "POST" || method === "PATCH";
const membersInPath = ({ path }: AnyOperation) => [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name!);

/** Everything in an answer that could differ for a client. */
const whole = ({ status, headers, text }: Answer) => [status, [...headers], text];

const otherPaths = [
  ...["", "/", "/unknown", "/workspaces/", "/deployments/a/b/c", "/%00", "/%", "/v1/prompts", "/a?b=c&b=d"],
];
const methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];

const requests: [method: string, path: string][] = [
  ...operations.map((operation): [string, string] => [operation.method, pathOf(operation)]),
  ...operations.map((operation): [string, string] => [operation.method, operation.path.replace(/{\w+}/g, "nothing")]),
  ...methods.flatMap((method) => otherPaths.map((path): [string, string] => [method, path])),
  ...methods.map((method): [string, string] => [method, `/deployments/${world.deployId}/promote`]),
];

test("without an admin token every request is a 404 that says that management is off", async () => {
  const service = serveDatabase(world.database, { clock: () => world.now, faces: [management({})] });
  for (const token of [adminToken, world.key]) {
    const headers = { Authorization: `Bearer ${token}`, "X-Request-Id": "test" };
    for (const [method, path] of requests) {
      const request = new Request(`http://ledger.test/admin/v1${path}`, { method, headers });
      const answer = await readAnswer(await service.fetch(request));
      const text = '{"error":"Management is off. Set ADMIN_TOKEN or MANAGEMENT=true, or in code ' +
        'management({ adminToken }) or management({ tokens: true })","code":"management_off"}';
      assert.equal([answer.status, answer.text], [404, method === "HEAD" ? "" : text], `${method} ${path}`);
    }
  }
});

test("paths that only begin with the same characters are not management paths", async () => {
  for (const path of ["/admin/v1x", "/admin/v10/workspaces", "/admin/v1-old"]) {
    const answer = await readAnswer(await world.fetch(new Request(`http://ledger.test${path}`)));
    assert.equal([answer.status, answer.text], [404, '{"error":"Not found"}'], path);
  }
});

const other = await createTenant(world.admin);
const expired = await createApiKey(world.admin, world.workspaceId, { expiresAt: world.now + 1 });
world.now++;
const revoked = await createApiKey(world.admin, world.workspaceId, {});
await revokeApiKey(world.admin, revoked.id);

const strangers: [answer: string, code: string, authorizations: (string | undefined)[]][] = [
  [
    "Missing or invalid authorization header",
    "unauthorized",
    [undefined, "", "Basic dXNlcjpwYXNz", adminToken, `Bearers ${adminToken}`, `Token ${adminToken}`],
  ],
  [
    "Invalid admin token",
    "invalid_token",
    [
      "Bearer",
      "bearer   ",
      "Bearer x",
      `Bearer ${adminToken.slice(0, -1)}`,
      `Bearer ${adminToken}x`,
      `Bearer ${adminToken.toUpperCase()}`,
      `Bearer ${adminToken} ${adminToken}`,
      `Bearer ${adminToken}, Bearer ${adminToken}`,
      `Bearer ${newApiKey()}`,
      ...[world, other, expired, revoked].map(({ key }) => `Bearer ${key}`),
    ],
  ],
];

for (const [error, code, authorizations] of strangers) {
  test(`every request, also for what does not exist, gets the same 401: ${error}`, async () => {
    const before = await world.manage("GET", "/verify");
    for (const [index, [method, path]] of requests.entries()) {
      // Each request uses three of the invalid tokens in turn, so that each token meets every kind of request.
      for (const turn of [0, 1, 2]) {
        const authorization = authorizations[(3 * index + turn) % authorizations.length];
        const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
        const body = method === "POST" || method === "PATCH" ? { body: '{"name":"x"}' } : {};
        if (body.body !== undefined) headers["Content-Length"] = String(body.body.length);
        // In the same minute more failures would get 429.
        world.now += 60_000;
        const answer = await world.send(`/admin/v1${path}`, { method, headers, ...body });
        const type: [string, string][] = [["cache-control", "no-store"]];
        const said = JSON.stringify({ error, code });
        if (method === "HEAD") type.push(["content-length", String(said.length)]);
        type.push(["content-type", "application/json"], ["www-authenticate", "Bearer"]);
        type.push(["x-content-type-options", "nosniff"], ["x-request-id", "test"]);
        const text = method === "HEAD" ? "" : said;
        assert.equal(whole(answer), [401, type, text], `${method} ${path} ${authorization}`);
      }
    }
    assert.equal(await world.manage("GET", "/verify"), before);
  });
}

test("the scheme of the token is accepted in any case", async () => {
  for (const scheme of ["bearer", "BEARER", "Bearer "]) {
    const headers = { Authorization: `${scheme} ${adminToken}` };
    assert.is((await world.send("/admin/v1/workspaces", { headers })).status, 200);
  }
});

test("the admin token is no API key", async () => {
  const paths = [`/v1/prompts?deployId=${world.deployId}`, "/v1/usage"];
  for (const path of paths) {
    const as = async (token: string) =>
      whole(await world.send(path, { headers: { Authorization: `Bearer ${token}` } }));
    assert.equal(await as(adminToken), await as(newApiKey()));
  }
  refused(await world.submit(undefined, undefined, adminToken), 401, "Invalid API key");
});

test("management() refuses an admin token that the settings would refuse, or that is empty", () => {
  for (const adminToken of ["", "x".repeat(31), newApiKey()]) {
    const fault = `adminToken must ${
      adminToken.length < 32 ? "be at least 32 printable ASCII characters" : "not be an API key"
    }`;
    assert.throws(() => management({ adminToken }), ({ message }: Error) => message.startsWith(fault));
  }
});

test("any other method of a path is a 405 that names the allowed ones", async () => {
  for (const { path } of operations) {
    const allowed = operations.filter((operation) => operation.path === path).map(({ method }) => method as string);
    for (const method of methods.filter((method) => !allowed.includes(method))) {
      const answer = await world.manage(method, path.replace(/{\w+}/g, "x"));
      assert.equal([answer.status, answer.headers.get("Allow")], [405, allowed.join(", ")], `${method} ${path}`);
      assert.is(answer.text, method === "HEAD" ? "" : '{"error":"Method not allowed","code":"method_not_allowed"}');
    }
  }
});

for (const path of ["", "/", "/unknown", "/workspaces/x/y", "/prompts", "/diagnoses", "/v1/prompts", "/Workspaces"]) {
  test(`answers 404 to ${path || "nothing"} below its own path, whatever the method`, async () => {
    for (const method of methods.filter((method) => method !== "HEAD")) {
      refused(await world.manage(method, path), 404, "Not found");
    }
  });
}

const mounts: [name: string, root: string, basePath: ServiceSettings["basePath"], isStripped: boolean][] = [
  ["at the root", "", "", false],
  ["at the root, with a slash", "", "/", false],
  ["under a base path", "/tools/llm", "/tools/llm", false],
  ["under a base path with a slash", "/tools/llm", "/tools/llm/", false],
  ["under a path that the host strips", "/tools/llm", "", true],
];

for (const [name, mount, basePath, isStripped] of mounts) {
  test(`${name}, a creation is a 201 whose Location, relative to the URL of the request, leads to what was created`, async () => {
    const { database, workspaceId, promptId } = await createWorld();
    const service = serveDatabase(database, { basePath, faces: withManagement });
    const send = async (method: string, url: string, body?: object) => {
      const init = { method, headers: { Authorization: `Bearer ${adminToken}` } };
      const seen = isStripped ? url.replace(mount, "") : url;
      const request = new Request(seen, { ...init, ...body && { body: JSON.stringify(body) } });
      return readAnswer(await service.fetch(request));
    };
    const root = `http://ledger.test${mount}/admin/v1`;
    const made: [path: string, body: object, shown: RegExp, unshown?: string[]][] = [
      ["/workspaces", { name: "New" }, /\/workspaces\/ws_\w{26}$/],
      [`/workspaces/${workspaceId}/keys`, {}, /\/keys\/key_\w{26}$/, ["key"]],
      [`/workspaces/${workspaceId}/prompts`, promptFile, /\/prompts\/prompt_\w{26}$/, ["isNew"]],
      [`/prompts/${promptId}/versions`, { ...promptFile, title: "2" }, /\/prompts\/prompt_\w{26}\/versions\/2$/, [
        "isNew",
      ]],
      [`/workspaces/${workspaceId}/deployments`, { name: "new", promptId }, /\/deployments\/dep_\w{26}$/],
    ];
    for (const [path, body, shown, unshown = []] of made) {
      const url = `${root}${path}${path === "/workspaces" ? "/" : ""}`;
      const answer = await send("POST", url, body);
      const object = taken(answer, 201);
      const location = new URL(answer.headers.get("Location")!, url).href;
      assert.match(location, shown);
      assert.ok(location.startsWith(`${root}/`), location);
      // A prompt is shown with what lists have of it.
      const { prompt: _, ...found } = taken(await send("GET", location));
      for (const name of unshown) delete object[name];
      assert.equal(found, object);
    }
    const url = `${root}/workspaces/${workspaceId}/publish`;
    const published = await send("POST", url, { ...promptFile, deploy: "new-2" });
    const { deployment } = taken<{ deployment: object }>(published, 201);
    const found = taken(await send("GET", new URL(published.headers.get("Location")!, url).href));
    assert.equal({ ...found, changed: true }, deployment);
  });
}

test("responses and refusals are JSON with Cache-Control: no-store", async () => {
  for (const path of ["/workspaces", "/workspaces/unknown", "/unknown", "/workspaces?limit=0"]) {
    const { headers } = await world.manage("GET", path);
    assert.equal([headers.get("Content-Type"), headers.get("Cache-Control")], ["application/json", "no-store"]);
  }
});

/** Input that operations require, besides their path. */
const good: Record<string, object> = {
  createWorkspace: { name: "x" },
  createToken: { name: "x", role: "viewer" },
  addFeedback: { name: "x", value: true },
  readFeedbackAgreement: { name: "x", authors: "a,b" },
  removeFeedback: { name: "x" },
  importFeedback: { feedback: [{ record: "x", name: "x", value: true }] },
  declareFeedback: { name: "x", kind: "boolean" },
  undeclareFeedback: { name: "x" },
  createReview: { title: "x" },
  createPrompt: promptFile,
  pushPrompt: promptFile,
  publishPrompt: { ...promptFile, deploy: "x" },
  renderPrompt: { values: {} },
  diffVersions: { from: 1 },
  createDeployment: { name: "x", promptId: world.promptId },
  promoteDeployment: { version: 1 },
  setRollout: { version: 2, percent: 10 },
  renameDeployment: { name: "x" },
  renamePrompt: { name: "x" },
  declineChangeRequest: { reason: "x" },
  deleteSession: { sessionId: "x" },
  showSession: { sessionId: "x" },
  setPrice: { model: "x", input: "1", output: "1" },
  setPrices: { prices: [] },
  createBudget: { amount: "50", per: "month" },
  createWebhook: { url: "https://example.com/" },
  createAlert: { condition: "records<1" },
  compareStats: { a: "x", b: "x" },
  applyPrompts: { workspaceId: "x", prompts: [] },
  readLiveVersion: { time: 1 },
  listRecordFigures: { ids: "x" },
  deleteWorkspaceSession: { sessionId: "x" },
  prune: { olderThanMs: 86_400_000 },
  deleteWorkspace: { confirm: "x" },
};

for (const operation of operations) {
  const { id, method, input: { schema } } = operation;
  const send = (member: string, value = "x") =>
    hasBody(operation)
      ? world.manage(method, pathOf(operation), JSON.stringify({ [member]: value }))
      : world.manage(method, `${pathOf(operation)}?${member}=${value}`);

  test(`${id} refuses an unknown member, and names it`, async () => {
    for (const name of ["surprise", "constructor", "Limit", "__proto__"]) {
      const body = JSON.stringify(good[id] ?? {}).replace(/}$/, `${good[id] ? "," : ""}"${name}":1}`);
      const query = new URLSearchParams({ ...good[id] as Record<string, string>, [name]: "1" });
      const answer = await (hasBody(operation)
        ? world.manage(method, pathOf(operation), body)
        : world.manage(method, `${pathOf(operation)}?${query}`));
      const fields = Object.keys(schema).join(", ") || "none";
      refused(answer, 400, `Unknown field ${name}. Allowed: ${fields}`);
    }
  });

  for (const name of [...membersInPath(operation), "ifRevision"]) {
    test(`${id} refuses ${name} where it does not belong`, async () => {
      const said = name === "ifRevision"
        ? "ifRevision is taken from the If-Match header; remove it"
        : `${name} is taken from the URL; remove it from the body or query`;
      refused(await send(name), 400, said);
    });
  }
}

// The tests of submits state how JSON is read, which is the same here.
const bodies: [name: string, body: string, error: string][] = [
  ["nothing", "", "Missing required field name"],
  ["half of an object", '{"name":"x"', "Request body must be valid JSON"],
  ["an array of objects", '[{"name":"x"}]', "Request body must be an object"],
  ["a name twice, the second wrong", '{"name":"x","name":1}', "Field name must be a name"],
  ["a name of null", '{"name":null}', "Field name must be a name"],
];

for (const [name, body, error] of bodies) {
  test(`a body of ${name} is refused`, async () => {
    const answer = await world.manage("POST", "/workspaces", body);
    assert.ok(taken<{ error: string }>(answer, 400).error.startsWith(error), answer.text);
  });
}

test("a body that is too large is a 413, and creates nothing", async () => {
  const before = await world.manage("GET", "/workspaces");
  const answer = await world.manage("POST", "/workspaces", {
    name: "x",
    upgradeUrl: `https://a.b/${"x".repeat(4096)}`,
  });
  refused(answer, 413, "Request body must be at most 4096 bytes");
  assert.is(answer.headers.get("Connection"), "close");
  assert.equal(await world.manage("GET", "/workspaces"), before);
});

test("faults in a body are named by their path", async () => {
  const push = (body: object) => world.manage("POST", `/prompts/${world.promptId}/versions`, body);
  const messages = [{ role: "user", content: "x" }];
  const faults: [body: object, error: string][] = [
    [{ title: "x" }, "Missing required field messages"],
    [{ title: "x", messages: {} }, "Field messages must be an array"],
    [{ title: "x", messages: [...messages, 1] }, "Field messages[1] must be an object"],
    [{ title: "x", messages: [{ content: "x" }] }, "Missing required field messages[0].role"],
    [{ title: "x", messages: [{ role: "", content: "x" }] }, "Field messages[0].role must be a non-empty string"],
    [{ title: "x", messages, llmConfig: [] }, "Field llmConfig must be an object"],
    [{ title: "x", messages, description: "\0" }, "Field description must be a string without NUL characters"],
    [{ title: "x", messages, note: 1 }, "Field note must be at most 2000 characters without NUL characters"],
  ];
  for (const [body, error] of faults) refused(await push(body), 400, error);
});

const numbers = [
  ...["1e3", "01", "9007199254740992", "99999999999999999999", "-1", "", " 1", "1 ", "+1", "1.0", "0x1", "x", "NaN"],
  ...["null", "true", "[1]"],
];

// management/pages.test.ts states the same of the limit of every list.
for (const number of [...numbers, "0"]) {
  test(`promptVersion in a query cannot be "${number}"`, async () => {
    const path = `/deployments/${world.deployId}/diagnoses?promptVersion=${encodeURIComponent(number)}`;
    refused(await world.manage("GET", path), 400, "Field promptVersion must be an integer from 1 to 9007199254740991");
  });
}

test("a body is parsed once, and a query is not JSON", async () => {
  const { parse } = JSON;
  let parsed: string[] = [];
  JSON.parse = (text: string, ...rest) => {
    parsed.push(text);
    return parse(text, ...rest);
  };
  try {
    const body = JSON.stringify({ name: "Parsed once" });
    taken(await world.manage("POST", "/workspaces", body), 201);
    assert.equal(parsed.filter((text) => text.startsWith('{"name"')), [body]);
    parsed = [];
    taken(await world.manage("GET", `/workspaces/${world.workspaceId}/calls?limit=1&from=1234567`));
    assert.equal(parsed.filter((text) => text.includes("1234567")), []);
  } finally {
    JSON.parse = parse;
  }
});

test("numbers in a query can have the largest allowed values", async () => {
  const most = Number.MAX_SAFE_INTEGER;
  for (
    const query of [
      "limit=1",
      "limit=1000",
      `promptVersion=${most}`,
      "from=0",
      `to=${most}`,
      `status=-${most}`,
      "limit=%31",
    ]
  ) {
    taken(await world.manage("GET", `/deployments/${world.deployId}/diagnoses?${query}`));
  }
});

for (const query of ["limit=1&limit=1", "limit=1&cursor=1&limit=2", "surprise=1&surprise=1", "sessionId=&sessionId="]) {
  test(`a query that repeats a parameter is refused: ${query}`, async () => {
    const answer = await world.manage("GET", `/deployments/${world.deployId}/diagnoses?${query}`);
    refused(answer, 400, `Parameter ${query.split("=")[0]} must be given once`);
  });
}

const ids: [text: string, status: number, error: string][] = [
  ["%", 404, "Workspace % not found"],
  ["%F", 404, "Workspace %F not found"],
  ["%FF", 404, "Workspace %FF not found"],
  ["%ED%A0%80", 404, "Workspace %ED%A0%80 not found"],
  ["%2541", 404, "Workspace %41 not found"],
  ["a%2Fb", 404, "Workspace a/b not found"],
  ["%F0%9F%98%80", 404, "Workspace 😀 not found"],
  ["__proto__", 404, "Workspace __proto__ not found"],
  ["'%20or%201=1", 404, "Workspace ' or 1=1 not found"],
  ["x".repeat(128), 404, `Workspace ${"x".repeat(128)} not found`],
  ["x".repeat(129), 400, "Field id must be an id of 1 to 128 characters"],
  ["%00", 400, "Field id must be an id of 1 to 128 characters"],
  ["a%00b", 400, "Field id must be an id of 1 to 128 characters"],
  ["%0A", 400, "Field id must be an id of 1 to 128 characters"],
];

for (const [text, status, error] of ids) {
  test(`an id in a path may be any text: ${text.slice(0, 20)} is a ${status}`, async () => {
    refused(await world.manage("GET", `/workspaces/${text}`), status, error);
  });
}

test("an id in a path is found even if its characters are percent-encoded", async () => {
  const encoded = Array.from(world.workspaceId, (letter) => `%${letter.charCodeAt(0).toString(16)}`).join("");
  assert.is(taken(await world.manage("GET", `/workspaces/${encoded}`)).id, world.workspaceId);
});

for (const version of ["0", "01", "1e0", "-1", "1.0", "x", "%20", "9007199254740992", "%31%00"]) {
  test(`a version in a path cannot be "${version}"`, async () => {
    const answer = await world.manage("GET", `/prompts/${world.promptId}/versions/${version}`);
    refused(answer, 400, "Field version must be an integer from 1 to 9007199254740991");
  });
}

test("a missing item is a 404 that names it, for every operation on one item", async () => {
  for (const operation of operations.filter(({ path }) => path.includes("{"))) {
    const path = operation.path.replace("{month}", "2026-11").replace("{version}", "1").replace(/{\w+}/, "nothing_1");
    const input = good[operation.id];
    const query = new URLSearchParams(input as Record<string, string>);
    const answer = await (hasBody(operation)
      ? world.manage(operation.method, path, input)
      : world.manage(operation.method, `${path}?${query}`));
    assert.match(taken<{ error: string }>(answer, 404).error, /^[A-Z][A-Za-z ]+( \d of prompt)? nothing_1 not found$/);
    assert.ok(impliedRefusals(operation).includes("not_found"), operation.id);
  }
});

test.run();
