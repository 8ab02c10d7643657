// The audit log is complete: replaying its entries in order gives the current catalog. Several tokens make random
// concurrent changes. OPERATIONS sets how many, SEED which.
import process from "node:process";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { sha256 } from "../../src/common/ids.ts";
import type { AuditEntry } from "../../src/management/audit.ts";
import { createWorld, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, taken } from "./management.ts";

const test = suite("replay of the audit log");

type State = Record<string, unknown>;
type Item = State & { id: string };

const operations = Number(process.env.OPERATIONS ?? 1000);
const atOnce = 4;

/** A request. Its path has placeholders for ids, such as `/keys/{key}/revoke`, which a number chooses. */
const request = fc.oneof(
  ...[
    ["POST", "/workspaces", { name: "W" }],
    ["PATCH", "/workspaces/{workspace}", { monthlyLimit: 7 }],
    ["PATCH", "/workspaces/{workspace}", { upgradeUrl: "https://a.example", keepRecordsMs: 86_400_000 }],
    ["PATCH", "/workspaces/{workspace}", { upgradeUrl: null, monthlyLimit: 8, name: "V" }],
    ["DELETE", "/workspaces/{workspace}?confirm=W"],
    ["POST", "/workspaces/{workspace}/keys", { name: "k", readOnly: true }],
    ["POST", "/workspaces/{workspace}/keys", { name: "k", expiresAt: 9e12, deployId: "{deployment}" }],
    ["POST", "/keys/{key}/revoke"],
    ["POST", "/keys/{key}/rotate", { overlapMs: 1000 }],
    ["POST", "/tokens", { name: "t", role: "editor" }],
    ["POST", "/tokens", { name: "t", role: "viewer", workspaceId: "{workspace}" }],
    ["POST", "/tokens/{token}/revoke"],
    ["POST", "/tokens/{token}/rotate"],
    ["POST", "/workspaces/{workspace}/prompts", promptFile],
    ["POST", "/workspaces/{workspace}/prompts", { ...promptFile, name: "same" }],
    ["POST", "/prompts/{prompt}/versions", { ...promptFile, title: "Second" }],
    ["POST", "/prompts/{prompt}/versions", promptFile],
    ["POST", "/prompts/{prompt}/rename", { name: "other" }],
    ["POST", "/prompts/{prompt}/archive"],
    ["POST", "/prompts/{prompt}/unarchive"],
    ["POST", "/workspaces/{workspace}/publish", { ...promptFile, name: "same", deploy: "production" }],
    ["POST", "/workspaces/{workspace}/publish", { ...promptFile, title: "Third", name: "new", deploy: "staging" }],
    ["POST", "/workspaces/{workspace}/deployments", { name: "production", promptId: "{prompt}" }],
    ["POST", "/deployments/{deployment}/promote", { version: 1 }],
    ["POST", "/deployments/{deployment}/promote", { version: 2 }],
    ["POST", "/deployments/{deployment}/rollback"],
    ["POST", "/deployments/{deployment}/rename", { name: "other" }],
    ...["activate", "deactivate", "archive", "unarchive", "protect", "unprotect"]
      .map((verb) => ["POST", `/deployments/{deployment}/${verb}`]),
  ].map(([method, path, body]) => fc.tuple(fc.constant({ method, path, body }), fc.nat(), fc.nat(2))),
) as fc.Arbitrary<[{ method: string; path: string; body?: object }, number, number]>;

/** The whole catalog, by id. */
async function readCatalog(world: World): Promise<Map<string, Item & { workspaceId?: string }>> {
  const workspaces = await readAll<Item>(world, "/workspaces?limit=1000");
  const inAll = workspaces.flatMap(({ id }) =>
    ["keys", "prompts", "deployments"].map((noun) =>
      readAll<Item>(world, `/workspaces/${id}/${noun}?limit=1000${noun === "keys" ? "" : "&archived=true"}`)
    )
  );
  const items = [workspaces, await readAll<Item>(world, "/tokens?limit=1000"), ...await Promise.all(inAll)].flat();
  return new Map(items.map((item) => [item.id, item]));
}

/** The catalog according to the log: the state of each item by id, and the hashes of each prompt's versions. */
function replay(entries: AuditEntry[]) {
  const catalog = new Map<string, State & { workspaceId: string | null }>();
  const hashes = new Map<string, unknown[]>();
  for (const { action, targetId, workspaceId, before, after } of entries) {
    const id = targetId!, state = catalog.get(id);
    // The values before a change must be the current ones.
    for (const [name, value] of Object.entries(before ?? {})) {
      if (name !== "reference") assert.equal(state?.[name] ?? null, value, `${action}: ${name}`);
    }
    if (action === "workspace.deleted") {
      for (const [other, { workspaceId }] of catalog) if (workspaceId === id) catalog.delete(other);
      catalog.delete(id);
      continue;
    }
    const { hash, ...members } = after as State;
    catalog.set(id, { ...state, ...members, workspaceId });
    if (hash !== undefined) hashes.set(id, [...hashes.get(id) ?? [], hash]);
  }
  return { catalog, hashes };
}

test("replaying random concurrent changes by several tokens gives the current catalog, through two services too", async () => {
  const world = await createWorld();
  const services = [world, await createWorld({ database: world.database })];
  const tokens = await Promise.all(
    ["owner", "admin", "publisher"].map(async (role) =>
      taken<{ token: string }>(await world.manage("POST", "/tokens", { name: role, role }), 201).token
    ),
  );
  const seed = Number(process.env.SEED ?? 1);
  const all = fc.sample(request, { numRuns: operations, seed });
  // These tokens make the changes, so they must stay valid.
  const own = new Set((await readAll<Item>(world, "/tokens")).map(({ id }) => id));
  let named: string[] = [];
  for (let at = 0; at < all.length; at += atOnce) {
    for (const service of services) service.now += 1000;
    if (at % (10 * atOnce) === 0) named = [...(await readCatalog(world)).keys()].filter((id) => !own.has(id));
    const sent = all.slice(at, at + atOnce).map(([{ method, path, body }, nth, token]) => {
      const fill = (text: string) =>
        text.replace(/{(\w+)}/g, (_, noun: string) => {
          const prefix = { workspace: "ws", deployment: "dep" }[noun] ?? noun;
          const some = named.filter((id) => id.startsWith(`${prefix}_`));
          return some[nth % some.length] ?? "none";
        });
      const headers = { Authorization: `Bearer ${tokens[token]}` };
      return services[nth % 2]!.manage(method, fill(path), body && JSON.parse(fill(JSON.stringify(body))), headers);
    });
    for (const { status, text } of await Promise.all(sent)) assert.ok(status < 500, text + world.logged.join());
  }
  const entries = (await readAll<AuditEntry>(world, "/audit?limit=1000")).reverse();
  assert.ok(entries.length > operations / 4);
  const { catalog, hashes } = replay(entries);
  const actual = await readCatalog(world);
  assert.equal([...catalog.keys()].sort(), [...actual.keys()].sort());
  for (const [id, state] of catalog) {
    const item = actual.get(id)!;
    for (const [name, value] of Object.entries(state)) {
      // The reference of a deployment follows from the name of its prompt, and a workspace is its own.
      if (name !== "reference" && !(name === "workspaceId" && id.startsWith("ws_"))) {
        assert.equal(item[name], value, `${id}: ${name}`);
      }
    }
    if (!id.startsWith("prompt_")) continue;
    const versions = await world.database.read({
      sql: "select title, description, messages, llm_config from prompt_versions where prompt_id = ? order by version",
      args: [id],
    });
    const contents = versions.map(({ llm_config: llmConfig, ...content }) => JSON.stringify({ ...content, llmConfig }));
    assert.equal(await Promise.all(contents.map(sha256)), hashes.get(id));
  }
  const { audit } = taken<{ audit: object }>(await world.manage("GET", "/verify"));
  assert.equal(audit, { entries: entries.length, isIntact: true, brokenAt: null, head: entries.at(-1)!.hash });
});

test.run();
