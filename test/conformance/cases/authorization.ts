// Authorization, and which fault is reported if there are several.
import * as assert from "uvu/assert";
import { newApiKey } from "../../../src/common/ids.ts";
import { goodBody } from "../../helpers.ts";
import { isNotFound, isRefusal } from "../answers.ts";
import { bearer, read, submit } from "../target.ts";
import type { Case, Target } from "../target.ts";

const makeKey = ({ manage, workspaceId }: Target) =>
  manage<{ key: string; id: string }>("POST", `/workspaces/${workspaceId}/keys`, {});

async function revokedKey(target: Target): Promise<string> {
  const { key, id } = await makeKey(target);
  await target.manage("POST", `/keys/${id}/revoke`);
  return key;
}

async function replacedKey(target: Target): Promise<string> {
  const { key, id } = await makeKey(target);
  await target.manage("POST", `/keys/${id}/rotate`, {});
  return key;
}

type Headers = (target: Target) => string[] | Promise<string[]>;

const refusals: Record<string, [name: string, headers: Headers][]> = {
  "Missing or invalid authorization header": [
    ["no Authorization header", () => []],
    ["an empty Authorization header", () => ["Authorization:"]],
    ["another scheme", () => ["Authorization: Basic dTpw"]],
    ["a key without a scheme", ({ key }) => [`Authorization: ${key}`]],
    ["a scheme that only begins with Bearer", ({ key }) => [`Authorization: Bearers ${key}`]],
  ],
  "No API key provided": [
    ["Bearer with nothing after it", () => ["Authorization: Bearer"]],
    ["Bearer with spaces after it", () => ["Authorization: Bearer   "]],
  ],
  "Invalid API key": [
    ["a text that is no key", () => [bearer("x")]],
    ["a key with a typing error", ({ key }) => [bearer(key.slice(0, -1) + (key.endsWith("a") ? "b" : "a"))]],
    ["a key that was never issued", () => [bearer(newApiKey())]],
    ["a key that was replaced without an overlap", async (target) => [bearer(await replacedKey(target))]],
    ["a revoked key", async (target) => [bearer(await revokedKey(target))]],
    ["two Authorization headers", ({ key }) => [bearer(key), bearer(key)]],
    ["a key and more text", ({ key }) => [`${bearer(key)} x`]],
  ],
};

export const authorizationCases: Case[] = [
  ...Object.entries(refusals).flatMap(([error, cases]) =>
    cases.map(([name, headersOf]): Case => [`answers 401 to ${name}, on every operation`, async (target) => {
      const headers = await headersOf(target);
      isRefusal(await target.send(`/v1/prompts?deployId=${target.deployId}`, { headers }), 401, error);
      isRefusal(await submit(target, goodBody, { headers }), 401, error);
      isRefusal(await submit(target, goodBody, { headers }, "/v1/prompts"), 401, error);
      isRefusal(await target.send("/v1/usage", { headers }), 401, error);
    }])
  ),
  ["the scheme matches in any case", async ({ send, key, deployId }) => {
    for (const scheme of ["bearer", "BEARER", "bEaReR", "Bearer  "]) {
      const headers = [`authorization: ${scheme} ${key}`];
      assert.is((await send(`/v1/prompts?deployId=${deployId}`, { headers })).status, 200);
    }
  }],
  ["a revoked key is refused on the very next request", async (target) => {
    const { key, id } = await makeKey(target);
    assert.is((await submit({ ...target, key })).status, 201);
    await target.manage("POST", `/keys/${id}/revoke`);
    for (const body of [goodBody, "{}"]) isRefusal(await submit({ ...target, key }, body), 401, "Invalid API key");
  }],
  ["an invalid key is reported before any other fault", async (target) => {
    const nobody = { ...target, key: newApiKey() };
    const answers = [
      await target.send("/v1/prompts", { headers: [bearer(nobody.key)] }),
      await read({ ...nobody, deployId: "unknown" }),
      await submit({ ...nobody, deployId: "" }, "{}"),
      await submit(nobody, "not JSON"),
      await submit(nobody, "x".repeat(1024 * 1024 + 1)),
    ];
    for (const answer of answers) isRefusal(answer, 401, "Invalid API key");
  }],
  ["400 comes before 404, and 404 before 429", async (target) => {
    const invalid = "Request body must be valid JSON";
    isRefusal(await submit({ ...target, deployId: "dep_0" }, "not JSON"), 400, invalid);
    for (const body of [goodBody, "{}"]) {
      isRefusal(await submit({ ...target, deployId: "" }, body), 400, "Missing or invalid deployId parameter");
    }
    const { key } = await target.createTenant({ monthlyLimit: 0 });
    for (const ask of [read, submit]) isNotFound(await ask({ ...target, key, deployId: "dep_0" }));
  }],
];
