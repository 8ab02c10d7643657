// The ETag of GET /v1/prompts. A client with a current copy gets a 304 without a body, at the cost of a read.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { verifyBalanced } from "../balanced.ts";
import { createTenant, createWorld, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { taken } from "../management/management.ts";

const test = suite("ETag of GET /v1/prompts");

/** Reads the prompt with If-None-Match. */
const readIf = (
  { send, key, deployId }: Pick<World, "send" | "key"> & { deployId: string },
  known: string,
  method = "GET",
) =>
  send(`/v1/prompts?deployId=${deployId}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, "If-None-Match": known },
  });

const tagOf = async (world: World) => (await world.read()).headers.get("ETag")!;

const pushed = { ...promptFile, title: "Another" };

/** Changes of the served prompt, or of something else. */
const actions: Record<string, (world: World) => Promise<unknown>> = {
  "another version is pushed": (world) => world.manage("POST", `/prompts/${world.promptId}/versions`, pushed),
  "the same content is pushed": (world) => world.manage("POST", `/prompts/${world.promptId}/versions`, promptFile),
  "version 2 is made live": (world) => world.manage("POST", `/deployments/${world.deployId}/promote`, { version: 2 }),
  "version 1 is made live": (world) => world.manage("POST", `/deployments/${world.deployId}/promote`, { version: 1 }),
  "the deployment is renamed": (world) => world.manage("POST", `/deployments/${world.deployId}/rename`, { name: "b" }),
  "the deployment gets its old name": (world) =>
    world.manage("POST", `/deployments/${world.deployId}/rename`, { name: "production" }),
  "the workspace is renamed": (world) => world.manage("PATCH", `/workspaces/${world.workspaceId}`, { name: "b" }),
  "the workspace gets its old name": (world) =>
    world.manage("PATCH", `/workspaces/${world.workspaceId}`, { name: "Acme" }),
  "the limit is changed": (world) => world.manage("PATCH", `/workspaces/${world.workspaceId}`, { monthlyLimit: 999 }),
  "the deployment is closed and opened": async (world) => {
    await world.manage("POST", `/deployments/${world.deployId}/deactivate`);
    assert.is((await world.read()).status, 404);
    await world.manage("POST", `/deployments/${world.deployId}/activate`);
  },
  "another deployment is made of it": (world) =>
    world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, { name: "b", promptId: world.promptId }),
  "a month passes": (world) => Promise.resolve(world.now += 31 * 86_400_000),
};

test("is strong, and caches must revalidate", async () => {
  const { headers } = await (await createWorld()).read();
  assert.match(headers.get("ETag")!, /^"[0-9a-f]{32}"$/);
  assert.is(headers.get("Cache-Control"), "private, no-cache");
});

test("differs between deployments of one version, and between workspaces of the same content", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  const path = `/workspaces/${world.workspaceId}/deployments`;
  const body = { name: "staging", promptId: world.promptId };
  const twin = taken<{ id: string }>(await world.manage("POST", path, body), 201);
  const answers = [await world.read(), await world.read(twin.id), await world.read(other.deployId, other.key)];
  assert.is(new Set(answers.map(({ headers }) => headers.get("ETag"))).size, 3);
});

test("differs for different prompts, is the same in another process, and returns with the old content", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...Object.keys(actions)), { maxLength: 12 }), async (steps) => {
      const world = await createWorld();
      const second = await createWorld({ database: world.database });
      const tags = new Map<string, string>();
      for (const step of ["another version is pushed", ...steps]) {
        await actions[step]!(world);
        for (const { read } of [world, second]) {
          const { text, headers } = await read(world.deployId, world.key);
          tags.set(text, tags.get(text) ?? headers.get("ETag")!);
          assert.is(headers.get("ETag"), tags.get(text));
        }
      }
      assert.is(new Set(tags.values()).size, tags.size);
    }),
    { numRuns: 12 },
  );
});

test("a 304 has no body, and the cost and headers of a read", async () => {
  const world = await createWorld({ monthlyLimit: 3 });
  const read = await world.read();
  const answer = await readIf(world, read.headers.get("ETag")!);
  assert.equal([answer.status, answer.text], [304, ""]);
  const both = (name: string) => [read.headers.get(name), answer.headers.get(name)];
  assert.equal(both("X-RateLimit-Used"), ["1", "2"]);
  assert.equal(both("X-RateLimit-Remaining"), ["2", "1"]);
  for (const name of ["ETag", "Cache-Control", "X-RateLimit-Limit", "X-RateLimit-Reset"]) {
    const [before, after] = both(name);
    assert.ok(before);
    assert.is(before, after);
  }
  assert.is(answer.headers.get("Content-Type"), null);
  const { used, reads } = taken<{ used: number; reads: number }>(await world.send("/v1/usage"));
  assert.equal({ used, reads }, { used: 2, reads: 2 });
  await verifyBalanced(world.admin);
});

test("If-None-Match makes no difference to refusals", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  const known = await tagOf(world);
  assert.is((await readIf(world, known)).status, 429);
  assert.is((await readIf(world, "*")).status, 429);
  assert.is((await readIf({ ...world, deployId: "unknown" }, "*")).status, 404);
  assert.is((await readIf({ ...world, key: "unknown" }, "*")).status, 401);
  await world.manage("POST", `/deployments/${world.deployId}/deactivate`);
  assert.is((await readIf(world, known)).status, 404);
});

const world = await createWorld({ monthlyLimit: 1e6 });
const tag = await tagOf(world);

const headers: [name: string, header: string, status: number][] = [
  ["the tag", tag, 304],
  ["the tag, made weak by a proxy", `W/${tag}`, 304],
  ["any", "*", 304],
  ["any, with spaces", "  *  ", 304],
  ["the tag in a list", `"a", ${tag}, "b"`, 304],
  ["the tag in a list without spaces", `"a",W/"b",W/${tag}`, 304],
  ["the tag after empty entries", `,, ${tag}`, 304],
  ["nothing", "", 200],
  ["another tag", '"a"', 200],
  ["a list of others", '"a", W/"b"', 200],
  ["the tag without quotes", tag.slice(1, -1), 200],
  ["the tag with only one quote", tag.slice(1), 200],
  ["a part of the tag", `${tag.slice(0, -2)}"`, 200],
  ["the tag in upper case", tag.toUpperCase(), /[a-f]/.test(tag) ? 200 : 304],
  ["a lower-case weakness", `w/${tag}`, 200],
];

for (const [name, header, status] of headers) {
  test(`If-None-Match with ${name} is a ${status}`, async () => {
    const answer = await readIf(world, header);
    assert.equal([answer.status, answer.text === "", answer.headers.get("ETag")], [status, status === 304, tag]);
  });
}

test("HEAD has the headers of GET without the body, and counts like it", async () => {
  const get = await world.read();
  const head = await readIf(world, '"other"', "HEAD");
  assert.equal([head.status, head.text], [200, ""]);
  const headersOf = ({ headers }: typeof get) => {
    const all = Object.fromEntries(headers);
    const used = Number(all["x-ratelimit-used"]) + Number(all["x-ratelimit-remaining"]);
    return { ...all, "content-length": "", "x-ratelimit-used": "", "x-ratelimit-remaining": "", used };
  };
  assert.equal(headersOf(head), headersOf(get));
  assert.is(Number(head.headers.get("Content-Length")), new TextEncoder().encode(get.text).length);
  assert.is(Number(head.headers.get("X-RateLimit-Used")), Number(get.headers.get("X-RateLimit-Used")) + 1);
});

test("HEAD of a current copy is a 304 without a length", async () => {
  const answer = await readIf(world, tag, "HEAD");
  assert.equal([answer.status, answer.text, answer.headers.get("ETag")], [304, "", tag]);
  assert.is(answer.headers.get("Content-Length"), null);
});

test("a submit ignores If-None-Match, and has no tag", async () => {
  const answer = await world.submit(undefined, undefined, undefined, { "If-None-Match": "*" });
  assert.equal([answer.status, answer.headers.get("ETag")], [201, null]);
});

test.run();
