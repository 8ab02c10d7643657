// Random histories of management: several tokens make concurrent changes of every noun, through two services.
import fc from "fast-check";
import * as assert from "uvu/assert";
import type { AuditEntry } from "../../src/management/events/audit.ts";
import { createWorld, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, taken } from "./management.ts";

type State = Record<string, unknown>;
type Item = State & { id: string };

const atOnce = 4;

const tiers = [{ above: 9, input: "3", cacheWriteHour: "4", output: "5" }, {
  hours: "01:00-04:00",
  input: "1",
  output: "1",
}];

/** A request. Its path has placeholders for ids, such as `/keys/{key}/revoke`, which a number chooses. */
const request = fc.oneof(
  ...[
    ["POST", "/workspaces", { name: "W" }],
    ["PATCH", "/workspaces/{workspace}", { monthlyLimit: 7 }],
    ["PATCH", "/workspaces/{workspace}", { upgradeUrl: "https://a.example", keepRecordsMs: 86_400_000 }],
    ["PATCH", "/workspaces/{workspace}", { upgradeUrl: null, monthlyLimit: 8, name: "V" }],
    ["PATCH", "/workspaces/{workspace}", { costSource: "prices" }],
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
    ["POST", "/prompts/{prompt}/versions", { ...promptFile, declarations: { name: { type: "text" } } }],
    ["POST", "/prompts/{prompt}/versions", promptFile],
    ["POST", "/prompts/{prompt}/rename", { name: "other" }],
    ["POST", "/prompts/{prompt}/archive"],
    ["POST", "/prompts/{prompt}/unarchive"],
    ["POST", "/workspaces/{workspace}/publish", { ...promptFile, name: "same", deploy: "production" }],
    ["POST", "/workspaces/{workspace}/publish", { ...promptFile, title: "Third", name: "new", deploy: "staging" }],
    ["POST", "/workspaces/{workspace}/deployments", { name: "production", promptId: "{prompt}" }],
    ["POST", "/prices", { model: "m", input: "1", output: "2" }],
    ["POST", "/prices", { model: "m", input: "1", output: "3", cachedInput: "0" }],
    ["POST", "/prices", { model: "n", input: "1", output: "2", validFrom: 7 }],
    ["POST", "/prices", { model: "n", input: "1", cacheWrite: "2", output: "2", tiers, unpricedMedia: ["audio"] }],
    ["DELETE", "/prices/{price}"],
    ["POST", "/deployments/{deployment}/promote", { version: 1 }],
    ["POST", "/deployments/{deployment}/promote", { version: 2 }],
    ["POST", "/deployments/{deployment}/rollback"],
    ["POST", "/deployments/{deployment}/rename", { name: "other" }],
    ...["activate", "deactivate", "archive", "unarchive", "protect", "unprotect"]
      .map((verb) => ["POST", `/deployments/{deployment}/${verb}`]),
  ].map(([method, path, body]) => fc.tuple(fc.constant({ method, path, body }), fc.nat(), fc.nat(2))),
) as fc.Arbitrary<[{ method: string; path: string; body?: object }, number, number]>;

/** The whole catalog, by id. */
export async function readCatalog(world: World): Promise<Map<string, Item & { workspaceId?: string }>> {
  const workspaces = await readAll<Item>(world, "/workspaces?limit=1000");
  const inAll = workspaces.flatMap(({ id }) =>
    ["keys", "prompts", "deployments"].map((noun) =>
      readAll<Item>(world, `/workspaces/${id}/${noun}?limit=1000${noun === "keys" ? "" : "&archived=true"}`)
    )
  );
  const ofAll = ["/tokens", "/prices"].map((path) => readAll<Item>(world, `${path}?limit=1000`));
  const items = [workspaces, ...await Promise.all([...ofAll, ...inAll])].flat();
  return new Map(items.map((item) => [item.id, item]));
}

/** The catalog according to the log: the state of each item by id, and the hashes of each prompt's versions. */
export function replay(entries: readonly AuditEntry[]) {
  const catalog = new Map<string, State & { workspaceId: string | null }>();
  const hashes = new Map<string, unknown[]>();
  for (const { action, targetId, workspaceId, before, after } of entries) {
    const id = targetId!, state = catalog.get(id);
    // The values before a change must be the current ones.
    for (const [name, value] of Object.entries(before ?? {})) {
      if (!["reference", "id", "createdAt"].includes(name)) {
        assert.equal(state?.[name] ?? null, value, `${action}: ${name}`);
      }
    }
    if (after === null) {
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

/** Makes a world with a history. No request fails but by a refusal. */
export async function createHistory(operations: number, seed: number): Promise<World> {
  const world = await createWorld();
  const services = [world, await createWorld({ database: world.database })];
  const tokens = await Promise.all(
    ["owner", "admin", "publisher"].map(async (role) =>
      taken<{ token: string }>(await world.manage("POST", "/tokens", { name: role, role }), 201).token
    ),
  );
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
  return world;
}

/** All entries of the audit log, oldest first. */
export const readEntries = async (world: World): Promise<AuditEntry[]> =>
  (await readAll<AuditEntry>(world, "/audit?limit=1000")).reverse();
