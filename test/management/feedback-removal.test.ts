// Feedback goes with its records, whatever removes them, in transactions of bounded size.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { verifyFeedback } from "../../src/feedback/verify-feedback.ts";
import { deleteWorkspace } from "../../src/management/access/deletion.ts";
import { prune } from "../../src/management/records/prune.ts";
import { deleteDiagnosis, deleteSession } from "../../src/management/records/records.ts";
import { call } from "../actions.ts";
import { verifyBalanced } from "../balanced.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { storeFeedback } from "../stored-feedback.ts";
import { taken } from "./management.ts";

const test = suite("removal of feedback");

const day = 86_400_000; // ms
const maxRows = 512 + 100; // of feedback, and of what a piece had before
const left = 511; // rows that go with their records

const tables = ["feedback", "earlier_feedback", "feedback_counts", "feedback_histories", "feedback_words"];

async function countRows({ read }: Pick<Database, "read">, names = tables.slice(0, 2)): Promise<number> {
  const [row] = await read({
    sql: `select ${names.map((name) => `(select count(*) from ${name})`).join(" + ")} as rows`,
  });
  return Number(row!.rows);
}

/** The same database, which checks after each transaction that it removed few rows, and that feedback is whole. */
function watched(database: Database) {
  const removed: number[] = [], faults: unknown[] = [];
  return {
    ...{ removed, faults },
    database: {
      ...database,
      async write(statements: Parameters<Database["write"]>[0]) {
        const before = await countRows(database);
        const results = await database.write(statements);
        removed.push(before - await countRows(database));
        faults.push(...(await verifyFeedback(database, undefined, () => {})).rows);
        return results;
      },
    },
  };
}

/** A world with records that have much feedback, which was changed twice, beside one of another workspace that has little. */
async function createFull(records: number): Promise<World & { ids: string[] }> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const ids: string[] = [];
  for (let nth = 0; nth < records; nth++) ids.push(taken<{ id: string }>(await world.submit(goodBody), 201).id);
  const other = await createTenant(world.admin, 1e6, "Other");
  const positions = (await world.database.read({ sql: "select position from diagnoses" }))
    .map(({ position }) => Number(position));
  const pieces = Array.from({ length: 1_000 }, (_, nth) => ({
    ...{ name: `n${nth % 50}`, author: `${nth}`, value: `label ${nth % 7}` },
  }));
  await storeFeedback(world.database, world.workspaceId, positions, pieces, 3);
  taken(await world.submit(goodBody, other.deployId, other.key), 201);
  const [last] = await world.database.read({ sql: "select max(position) as position from diagnoses" });
  await storeFeedback(world.database, other.workspaceId, [Number(last!.position)], [{
    name: "n0",
    author: "",
    value: "x",
  }]);
  return Object.assign(world, { ids });
}

type Removal = (world: World & { ids: string[] }, session: World["admin"]) => Promise<unknown>;

const removals: Record<string, Removal> = {
  "a record is deleted": ({ ids }, session) => call(deleteDiagnosis, session, { id: ids[0]! as `diag_${string}` }),
  "a session is deleted": ({ deployId }, session) =>
    call(deleteSession, session, { deployId, sessionId: goodBody.sessionId }),
  "old calls are pruned": async (world, session) => {
    world.now += 3 * day;
    // The newest commit stays.
    taken(await world.read());
    return await call(prune, session, { olderThanMs: 2 * day });
  },
  "a workspace is deleted": async ({ workspaceId }, session) => {
    let isDone = false;
    while (!isDone) ({ isDone } = await call(deleteWorkspace, session, { id: workspaceId, confirm: "Acme" }));
  },
};

for (const [name, remove] of Object.entries(removals)) {
  test(`when ${name}, its feedback goes in parts, and is whole after each`, async () => {
    const world = await createFull(name === "a record is deleted" ? 1 : 2);
    const { removed, faults, database } = watched(world.database);
    await remove(world, { ...world.admin, database });
    assert.ok(Math.max(...removed) <= Math.max(maxRows, 2 * left), removed.join());
    assert.equal(faults, []);
    // That of the other workspace stays: a piece, its count, its name and its label.
    assert.is(await countRows(world.database, tables), name === "old calls are pruned" ? 0 : 4);
    await verifyBalanced(world.admin);
    await world.close();
  });
}

test.run();
