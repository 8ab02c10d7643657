// One more than the bound is refused, with a code and advice. The rows up to it are written in bulk.
import * as assert from "uvu/assert";
import { bounds } from "../../src/support/bounds.ts";
import { createWorld, promptFile } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { suite } from "../suite.ts";
import { taken } from "./management.ts";

const test = suite("room");

/** Adds rows until there are so many. Columns are expressions of `n`. */
const fill = ({ database }: World, table: string, count: number, columns: Record<string, string>) =>
  database.write([{
    sql: `insert into ${table} (${Object.keys(columns).join(", ")})
      with recursive i(n) as (select 1 union all select n + 1 from i where n < ${count})
      select ${Object.values(columns).join(", ")} from i`,
  }]);

/** A table, how many rows to add, a request for one more, and its refusal. */
type Case = {
  table: string;
  key?: string;
  count: number;
  columns(world: World): Record<string, string>;
  more(world: World): Promise<Answer>;
  refusal: [code: string, message: string];
};

const at = { created_at: "0" };
const ofWorkspace = ({ workspaceId }: World) => ({ workspace_id: `'${workspaceId}'` });
const make = ({ manage, workspaceId }: World, what: string, body: object) =>
  manage("POST", `/workspaces/${workspaceId}/${what}`, body);

const versions = (world: World) => ({
  ...{ prompt_id: `'${world.promptId}'`, version: "n + 1", title: "'x'", description: "''", messages: "'[]'" },
  ...{ llm_config: "'{}'", note: "''", ...at },
});
const deployments = (world: World, promptId: string) => ({
  ...{ id: "'dep_' || n", ...ofWorkspace(world), name: "'d' || n", prompt_id: promptId, current_version: "1" },
  ...{ is_active: "1", revision: "1", ...at },
});

const cases: Record<string, Case> = {
  prompts: {
    ...{ table: "prompts", count: bounds.prompts - 1 },
    columns: (world) => ({ id: "'prompt_' || n", ...ofWorkspace(world), name: "'p' || n", ...at }),
    more: (world) => make(world, "prompts", promptFile),
    refusal: ["too_many_prompts", "A workspace may have at most 10000 prompts"],
  },
  "prompts of a release set": {
    ...{ table: "prompts", count: bounds.prompts - 2 },
    columns: (world) => ({ id: "'prompt_' || n", ...ofWorkspace(world), name: "'p' || n", ...at }),
    more({ manage, workspaceId }) {
      const prompts = ["a", "b"].map((name) => ({ ...promptFile, name, ifLatest: null }));
      return manage("POST", "/apply", { workspaceId, prompts });
    },
    refusal: ["too_many_prompts", "A workspace may have at most 10000 prompts"],
  },
  versions: {
    ...{ table: "prompt_versions", count: bounds.versionsOfPrompt - 1, columns: versions },
    more: ({ manage, promptId }) => manage("POST", `/prompts/${promptId}/versions`, promptFile),
    refusal: ["too_many_versions", "A prompt may have at most 10000 versions: create another prompt"],
  },
  deployments: {
    ...{ table: "deployments", count: bounds.deployments - 1 },
    columns: (world) => deployments(world, `'${world.promptId}'`),
    more: (world) => make(world, "publish", { ...promptFile, name: "other", deploy: "new" }),
    refusal: ["too_many_deployments", "A workspace may have at most 10000 deployments"],
  },
  "deployments of a prompt": {
    ...{ table: "deployments", count: bounds.deploymentsOfPrompt - 1 },
    columns: (world) => deployments(world, `'${world.promptId}'`),
    more: (world) => make(world, "deployments", { name: "new", promptId: world.promptId }),
    refusal: ["too_many_deployments", "A prompt may have at most 1000 deployments"],
  },
  "valid keys": {
    ...{ table: "api_keys", count: bounds.keys - 1 },
    columns: (world) => ({ id: "'key_' || n", ...ofWorkspace(world), name: "''", prefix: "''", ...at }),
    more: (world) => make(world, "keys", {}),
    refusal: ["too_many_keys", "A workspace may have at most 1000 valid API keys: revoke one first"],
  },
  "valid tokens": {
    ...{ table: "management_tokens", count: bounds.tokens },
    columns: (world) => ({
      id: "'token_' || n",
      ...ofWorkspace(world),
      name: "''",
      role: "'viewer'",
      prefix: "''",
      ...at,
    }),
    more: ({ manage, workspaceId }) => manage("POST", "/tokens", { name: "x", role: "viewer", workspaceId }),
    refusal: ["too_many_tokens", "A workspace may have at most 1000 valid tokens: revoke one first"],
  },
  prices: {
    ...{ table: "prices", count: bounds.prices },
    columns: () => ({
      id: "'price_' || n",
      provider: "'*'",
      model: "'m' || n",
      input: "'1'",
      output: "'1'",
      valid_from: "0",
      ...at,
    }),
    more: ({ manage }) => manage("POST", "/price-lists", { prices: [{ model: "new", input: "1", output: "1" }] }),
    refusal: ["too_many_prices", "The service may have at most 20000 prices: remove some first"],
  },
  alerts: {
    ...{ table: "alerts", count: bounds.alerts },
    columns: (world) => ({
      ...{
        id: "'alert_' || n",
        ...ofWorkspace(world),
        condition: "'records<1'",
        over_ms: "300000",
        keep_firing_ms: "0",
      },
      ...{ changed_at: "0", state: "'ok'", state_at: "0", turn: "0", ...at },
    }),
    more: (world) => make(world, "alerts", { condition: "records<1" }),
    refusal: ["too_many_alerts", "A workspace may have at most 100 alerts: delete one first"],
  },
  reviews: {
    ...{ table: "reviews", key: "id", count: bounds.reviews },
    columns: (world) => ({
      ...{
        id: "'review_' || n",
        ...ofWorkspace(world),
        title: "''",
        filter: "'{}'",
        sequence: "'newest'",
        names: "'[]'",
      },
      ...{ records: "0", created_by: "''", ...at },
    }),
    async more(world) {
      taken(await world.submit(), 201);
      return await make(world, "reviews", { title: "x" });
    },
    refusal: ["too_many_reviews", "A workspace may have at most 1000 reviews: delete one first"],
  },
};

for (const [name, { table, key = "rowid", count, columns, more, refusal }] of Object.entries(cases)) {
  test(`of ${name} there are no more than may be`, async () => {
    const world = await createWorld();
    await fill(world, table, count, columns(world));
    const { status, json } = await more(world);
    const { code, error } = json as { code: string; error: string };
    assert.equal([status, code, error], [409, ...refusal]);
    // One less leaves room.
    await world.database.write([{ sql: `delete from ${table} where ${key} = (select max(${key}) from ${table})` }]);
    assert.not.equal((await more(world)).status, 409);
  });
}

test("keys and tokens that are revoked or have expired leave room for others", async () => {
  const world = await createWorld();
  const columns = { ...ofWorkspace(world), name: "''", prefix: "''", ...at };
  await fill(world, "api_keys", bounds.keys, {
    id: "'key_' || n",
    ...columns,
    revoked_at: "iif(n % 2, 1, null)",
    expires_at: "1",
  });
  taken(await make(world, "keys", {}), 201);
  await fill(world, "management_tokens", bounds.tokens, {
    id: "'token_' || n",
    role: "'viewer'",
    ...columns,
    expires_at: "1",
  });
  const token = { name: "x", role: "viewer", workspaceId: world.workspaceId };
  taken(await world.manage("POST", "/tokens", token), 201);
});

test("a key has ten valid secrets at most, unless it is rotated without an overlap", async () => {
  const { manage, keyId } = await createWorld();
  const rotate = (overlapMs: number) => manage("POST", `/keys/${keyId}/rotate`, { overlapMs });
  for (let nth = 1; nth < bounds.secrets; nth++) taken(await rotate(3_600_000));
  const { status, json } = await rotate(3_600_000);
  assert.equal([status, (json as { error: string }).error], [
    409,
    "An API key may have at most 10 valid secrets: rotate it without an overlap",
  ]);
  taken(await rotate(0));
});

test("a rollout takes a hundred changes", async () => {
  const { manage, deployId, promptId } = await createWorld();
  taken(await manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: "Second" }), 201);
  const roll = (percent: number) => manage("POST", `/deployments/${deployId}/rollout`, { version: 2, percent });
  for (let percent = 0; percent <= bounds.rolloutChanges; percent++) taken(await roll(percent / 10 || 99));
  const { status, json } = await roll(50);
  assert.equal([status, (json as { code: string }).code], [409, "too_many_changes"]);
  taken(await manage("POST", `/deployments/${deployId}/rollout/stop`));
  taken(await roll(50));
});

test("the labels of all names have a bound together, and each name has one too", async () => {
  const world = await createWorld({ maxBodyBytes: 1024 * 1024 });
  const declare = (name: string, labels: string[]) => make(world, "feedback-names", { name, kind: "label", labels });
  const labels = Array.from({ length: bounds.labelsOfName }, (_, nth) => "ä".repeat(190) + nth);
  for (let nth = 0; nth < 6; nth++) taken(await declare(`n${nth}`, labels));
  const { status, json } = await declare("n6", labels);
  assert.equal([status, (json as { code: string }).code], [409, "labels_too_long"]);
  taken(await declare("n5", labels));
  taken(await declare("n6", ["good", "bad"]));
});

test("texts of the settings of a workspace, and of filters that reviews keep, have a length", async () => {
  const world = await createWorld();
  const long = `https://a.test/${"x".repeat(2_000)}`;
  const { status, text } = await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { upgradeUrl: long });
  assert.equal([status, /at most 2000 characters/.test(text)], [400, true]);
  const review = await make(world, "reviews", { title: "x", sessionId: "x".repeat(513) });
  assert.is(review.status, 400);
});

test.run();
