// Makes a log to query: requests of all kinds, single and concurrent, with a clock that sometimes steps back.
import fc from "fast-check";
import * as assert from "uvu/assert";
import type { DeploymentId, KeyId } from "../../src/common/ids.ts";
import type { Call } from "../../src/schema/ledger.ts";
import { extremes } from "../extremes.ts";
import { createTenant, createWorld, promptFile } from "../helpers.ts";
import type { Tenant, World } from "../helpers.ts";
import { taken } from "./management.ts";

export const minute = 60_000;

// Texts that could break a query string, LIKE, SQL, JSON or CSV.
export const texts = [
  "",
  "Hello",
  "hELLO world",
  "100%",
  "a_b",
  'it\'s "so"',
  "back\\slash",
  "n\0ul",
  "line\r\nbreak, comma",
  "ß Ä é",
  "İ\u2028😀",
  "{{x}}",
];
export const sessions = ["a", "b", "", "n\0ul", "ß%_'\"\\", "1", "null"];

/** Concurrent submits or reads that are alike except for their content. */
type Like = { count: number; isRead: boolean; tenant: 0 | 1; key: 0 | 1; deployment: 0 | 1; seed: number };
type Batch = { wait: number; promote: boolean; likes: Like[] };

const likes: fc.Arbitrary<Like> = fc.record({
  count: fc.integer({ min: 1, max: 4 }),
  isRead: fc.boolean(),
  tenant: fc.constantFrom(0, 0, 0, 1),
  key: fc.constantFrom(0, 1),
  deployment: fc.constantFrom(0, 1),
  seed: fc.nat({ max: 1e6 }),
});
// In total, the clock steps back by less than the hour that the service tolerates.
const wait = fc.constantFrom(
  0,
  1,
  1000,
  -1,
  -minute,
  -5 * minute,
  5 * minute,
  40 * minute,
  180 * minute,
  10 * 1440 * minute,
);

export const batches: fc.Arbitrary<Batch[]> = fc.array(
  fc.record({ wait, promote: fc.boolean(), likes: fc.array(likes, { minLength: 1, maxLength: 3 }) }),
  { minLength: 3, maxLength: 10 },
);

/** An accepted request, as the log must show it. */
export type Entry = Omit<Call, "id" | "number" | "month"> & {
  workspaceId: string;
  batch: number;
  record?: { id: string; sessionId: string; status: number; input: string | undefined; output: string | undefined };
};

export type FilledLog = { world: World; deployIds: string[]; keyIds: string[]; entries: Entry[] };

/** Makes two workspaces, the first with two keys and two deployments, and sends the requests. */
export async function fillLog(batches: Batch[]): Promise<FilledLog> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const { workspaceId, promptId } = world;
  const body = { ...promptFile, title: "Second" };
  taken(await world.manage("POST", `/prompts/${promptId}/versions`, body), 201);
  const second = taken<{ id: KeyId; key: string }>(
    await world.manage("POST", `/workspaces/${workspaceId}/keys`, {}),
    201,
  );
  const twin = taken<{ id: DeploymentId }>(
    await world.manage("POST", `/workspaces/${workspaceId}/deployments`, { name: "x", promptId, version: 1 }),
    201,
  );
  const other = await createTenant(world.admin);
  const ways: Tenant[][][] = [
    [{ key: world.key, keyId: world.keyId }, { key: second.key, keyId: second.id }].map((key) =>
      [world.deployId, twin.id].map((deployId) => ({ ...world, ...key, deployId }))
    ),
    [[other, other], [other, other]],
  ];
  const versions = new Map([[world.deployId, 1], [twin.id, 1], [other.deployId, 1]]);
  const entries: Entry[] = [];
  for (const [batch, { wait, promote, likes }] of batches.entries()) {
    world.now += wait;
    if (promote) {
      const version = 3 - versions.get(world.deployId)!;
      taken(await world.manage("POST", `/deployments/${world.deployId}/promote`, { version }));
      versions.set(world.deployId, version);
    }
    const sent = likes.flatMap(({ count, isRead, tenant, key, deployment, seed }) => {
      const way = ways[tenant]![key]![deployment]!;
      return Array.from({ length: count }, (_, nth) => send(way, isRead, seed + nth, batch));
    });
    entries.push(...await Promise.all(sent));
  }
  return { world, deployIds: [world.deployId, twin.id], keyIds: [world.keyId, second.id], entries };

  async function send(
    { workspaceId, key, keyId, deployId }: Tenant,
    isRead: boolean,
    seed: number,
    batch: number,
  ): Promise<Entry> {
    const promptVersion = versions.get(deployId)!;
    const common = { workspaceId, keyId, deployId, promptVersion, createdAt: world.now, batch };
    if (isRead) {
      assert.is((await world.read(deployId, key)).status, 200);
      return { ...common, operation: "read" };
    }
    const pick = <T>(choices: T[], turn: number) => choices[Math.floor(seed / turn) % choices.length]!;
    const sessionId = pick(sessions, 1);
    const status = pick([0, 1, -1, ...extremes.status], 7);
    const input = pick([...texts, undefined], 31);
    const output = input === undefined ? pick(texts, 401) : pick([...texts, undefined], 401);
    const numbers = {
      latency: pick([undefined, ...extremes.latency], 3),
      startAt: pick([undefined, ...extremes.moment], 5),
      endAt: pick([undefined, ...extremes.moment], 11),
      cost: pick([undefined, ...extremes.cost], 13),
      additional_properties: { prompt_tokens: pick(extremes.count, 17), completion_tokens: pick(extremes.count, 19) },
    };
    const answer = await world.submit({ sessionId, status, content: { input, output }, ...numbers }, deployId, key);
    const { id } = taken<{ id: string }>(answer, 201);
    return { ...common, operation: "submit", record: { id, sessionId, status, input, output } };
  }
}

/** Moves each commit of a log, with everything in it, to another position. */
export async function moveCommits(
  { database }: World,
  move: (position: number, index: number) => number,
): Promise<void> {
  const commits = await database.read({ sql: "select position, next_position from commits order by position" });
  const moves = commits.map((row, index) => {
    const first = Number(row.position);
    return { first, end: Number(row.next_position), by: move(first, index) - first };
  });
  const columns = { commits: "next_position", calls: "position", diagnoses: "position", deleted_diagnoses: "position" };
  // Moves by way of negative positions, so that no row lands on one that has not moved yet.
  const away = ([table, column]: string[], by: string) =>
    `update ${table} set position = -(position + ${by})${
      column === "position" ? "" : `, ${column} = ${column} + ${by}`
    }`;
  const back = Object.keys(columns).map((table) => ({
    sql: `update ${table} set position = -position where position < 0`,
  }));
  const statements = moves.flatMap(({ first, end, by }) =>
    Object.entries(columns).map((columns) => ({
      sql: `${away(columns, ":by")} where position >= :first and position < :end`,
      args: { first, end, by },
    }))
  );
  await database.write([...statements, ...back]);
}
