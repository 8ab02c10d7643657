// Sessions across the deployments of a workspace, compared with a plain recount.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Session } from "../../src/management/records/sessions.ts";
import { verifyBalanced } from "../balanced.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { moveCommits } from "./filled-log.ts";
import { readAll, readPages, refused, taken, toQuery } from "./management.ts";

const test = suite("sessions");

const pathOf = ({ workspaceId }: World) => `/workspaces/${workspaceId}/sessions`;
const showPath = ({ workspaceId }: World) => `/workspaces/${workspaceId}/session-records`;

type Shown = { record: { id: string; reference: string; keyId: string }; parentId: string | null };

/** A second deployment of the world's prompt. */
async function deploySecond(world: World): Promise<string> {
  const body = { name: "staging", promptId: world.promptId };
  return taken<{ id: string }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, body),
    201,
  ).id;
}

const statuses = [{ status: 0, name: "failed", isFailure: true }];
const submit = fc.record({
  session: fc.constantFrom("a", "b", "c", "d e", "", 'q"uote', "ü"),
  second: fc.boolean(),
  status: fc.constantFrom(0, 1),
  cost: fc.option(fc.constantFrom("0.1", "2e-7"), { nil: undefined }),
  wait: fc.nat({ max: 2 }),
});
const units: Record<string, number> = { "0.1": 1_000_000, "2e-7": 2 };

test("a list has each session once, with its numbers, however it is paged", async () => {
  const property = fc.asyncProperty(
    fc.array(submit, { minLength: 1, maxLength: 40 }),
    fc.boolean(),
    async (all, moves) => {
      const world = await createWorld({ monthlyLimit: 1e6 });
      const other = await createTenant(world.admin, 1000, "Other");
      await world.submit({ ...goodBody, sessionId: "a" }, other.deployId, other.key);
      taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses }));
      const second = await deploySecond(world);
      const sent: ((typeof all)[number] & { at: number })[] = [];
      for (const one of all) {
        world.now += one.wait;
        const body = { ...goodBody, sessionId: one.session, status: one.status, cost: one.cost };
        taken(await world.submit(body, one.second ? second : world.deployId), 201);
        sent.push({ ...one, at: world.now });
      }
      if (moves) await moveCommits(world, (position, index) => position + 5001 * index);
      const recount = (records: typeof sent) => {
        const ids = [...new Set(records.toReversed().map(({ session }) => session))];
        return ids.map((sessionId) => {
          const own = records.filter(({ session }) => session === sessionId);
          const costs = own.flatMap(({ cost }) => cost === undefined ? [] : units[cost]!);
          return {
            sessionId,
            records: own.length,
            failures: own.filter(({ status }) => status === 0).length,
            cost: String(Number((costs.reduce((sum, cost) => sum + cost, 0) / 1e7).toFixed(7))),
            unpriced: own.length - costs.length,
            feedback: [],
            firstAt: own[0]!.at,
            lastAt: own.at(-1)!.at,
          };
        });
      };
      const toPlain = (sessions: Session[]) => sessions.map((each) => ({ ...each, cost: String(Number(each.cost)) }));
      assert.equal(toPlain(await readAll<Session>(world, pathOf(world))), recount(sent));
      for (const { session: sessionId } of all) {
        const own = recount(sent).filter((each) => each.sessionId === sessionId);
        assert.equal(toPlain(await readAll<Session>(world, `${pathOf(world)}${toQuery({ sessionId })}`)), own);
      }
      const pages = await readPages<Session>(world, `${pathOf(world)}?limit=2`, async () => {
        await world.submit({ ...goodBody, sessionId: "a" });
      });
      assert.equal(toPlain(pages.flat()), recount(sent));
      const from = sent[sent.length >> 1]!.at;
      const query = toQuery({ deployId: second, from, to: world.now });
      const inTime = sent.filter((one) => one.second && one.at >= from && one.at < world.now);
      assert.equal(toPlain(await readAll<Session>(world, `${pathOf(world)}${query}`)), recount(inTime));
      for (const { session: sessionId } of all) {
        const one = toQuery({ sessionId, deployId: second, from, to: world.now });
        const own = recount(inTime).filter((each) => each.sessionId === sessionId);
        assert.equal(toPlain(await readAll<Session>(world, `${pathOf(world)}${one}`)), own);
      }
      world.close();
    },
  );
  await fc.assert(property, { numRuns: 15 });
});

test("one session is found in one request, however long ago it ended", async () => {
  const world = await createWorld();
  await world.submit({ ...goodBody, sessionId: "old" });
  await world.submit();
  await moveCommits(world, (position, index) => position + 5_000_000 * index);
  const list = async (query: string) =>
    taken<{ items: Session[]; nextCursor: string | null }>(await world.manage("GET", `${pathOf(world)}${query}`));
  const { items, nextCursor } = await list("?sessionId=old");
  assert.equal([items.map(({ sessionId, records }) => [sessionId, records]), nextCursor], [[["old", 1]], null]);
  assert.equal(await list("?sessionId=none"), { items: [], nextCursor: null });
});

test("sessions are found by a part of their id, whatever the case, on pages that are short after a long search", async () => {
  const world = await createWorld();
  for (const sessionId of ["Straße-1", "order", "ORDER-2", "a%b_c", "straße-1"]) {
    await world.submit({ ...goodBody, sessionId });
  }
  const find = async (sessionContains: string) =>
    (await readAll<Session>(world, `${pathOf(world)}${toQuery({ sessionContains, limit: 1 })}`))
      .map(({ sessionId }) => sessionId);
  assert.equal(await find("STRASSE"), ["straße-1", "Straße-1"]);
  assert.equal(await find("order"), ["ORDER-2", "order"]);
  assert.equal(await find("%"), ["a%b_c"]);
  assert.equal(await find("none"), []);
  await moveCommits(world, (position, index) => position + 400_000 * index);
  assert.equal(await find("order"), ["ORDER-2", "order"]);
  const path = `${pathOf(world)}?sessionContains=`;
  refused(await world.manage("GET", path), 400, "Field sessionContains must be a non-empty string");
});

test("a page of many sessions in several deployments has each with its records of all", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const second = await deploySecond(world);
  const ids = Array.from({ length: 70 }, (_, nth) => `s${nth}`);
  for (const deployId of [world.deployId, second]) {
    for (const sessionId of ids) await world.submit({ ...goodBody, sessionId }, deployId);
  }
  const sessions = await readAll<Session>(world, `${pathOf(world)}?limit=100`);
  assert.equal(sessions.map(({ sessionId, records }) => [sessionId, records]), ids.toReversed().map((id) => [id, 2]));
});

test("a session is shown across deployments, oldest first, as a tree", async () => {
  const world = await createWorld();
  const second = await deploySecond(world);
  const send = async (own: object, deployId: string = world.deployId) =>
    taken<{ id: string }>(await world.submit({ ...goodBody, additional_properties: own }, deployId), 201).id;
  const root = await send({ id: "root" });
  const child = await send({ parent_id: root, span_id: 17 }, second);
  const grandchild = await send({ parent_id: 17 });
  const byName = await send({ parent_id: "root" });
  const orphan = await send({ parent_id: "unknown" });
  await world.submit({ ...goodBody, sessionId: "other" });
  const items = await readAll<Shown>(world, `${showPath(world)}?sessionId=session-1`);
  assert.equal(items.map(({ record, parentId }) => [record.id, parentId]), [
    [root, null],
    [child, root],
    [grandchild, child],
    [byName, root],
    [orphan, null],
  ]);
  assert.equal(items.map(({ record }) => record.reference.split("@")[1]), [
    ...["production", "staging"],
    ...["production", "production", "production"],
  ]);
  for (const limit of [1, 2, 4]) {
    const pages = await readPages<Shown>(world, `${showPath(world)}?sessionId=session-1&limit=${limit}`);
    assert.equal(pages.flat(), items);
  }
});

test("a parent may be stored after its children, and be on another page", async () => {
  const world = await createWorld();
  for (const own of [{ id: "leaf", parent_id: "step" }, { id: "step", parent_id: "root" }, { id: "root" }]) {
    taken(await world.submit({ ...goodBody, additional_properties: own }), 201);
  }
  const pages = await readPages<Shown>(world, `${showPath(world)}?sessionId=session-1&limit=1`);
  const [leaf, step, root] = pages.flat();
  assert.equal([leaf!.parentId, step!.parentId, root!.parentId], [step!.record.id, root!.record.id, null]);
});

test("records that name each other as parents are no circle", async () => {
  const world = await createWorld();
  for (const own of [{ id: "a", parent_id: "b" }, { id: "b", parent_id: "a" }, { id: "c", parent_id: "c" }]) {
    await world.submit({ ...goodBody, additional_properties: own });
  }
  const items = await readAll<Shown>(world, `${showPath(world)}?sessionId=session-1`);
  assert.is(items.filter(({ parentId }) => parentId === null).length, 2);
});

test("a session is deleted in all deployments of its workspace alone, and the audit log has only its hash", async () => {
  const world = await createWorld();
  const second = await deploySecond(world);
  const other = await createTenant(world.admin, 1000, "Other");
  await world.submit(goodBody, other.deployId, other.key);
  for (const deployId of [world.deployId, second, second]) await world.submit(goodBody, deployId);
  await world.submit({ ...goodBody, sessionId: "stays" });
  const remove = async (query: string) => taken(await world.manage("DELETE", `${pathOf(world)}${query}`));
  assert.equal(await remove("?sessionId=session-1"), { deleted: 3 });
  assert.equal(await remove("?sessionId=session-1"), { deleted: 0 });
  const sessions = await readAll<Session>(world, pathOf(world));
  assert.equal(sessions.map(({ sessionId }) => sessionId), ["stays"]);
  assert.is((await readAll(world, pathOf({ ...world, ...other }))).length, 1);
  const [entry] = await readAll<{ action: string; targetId: string; before: object }>(world, "/audit");
  assert.equal([entry!.action, entry!.targetId], ["session.deleted", world.workspaceId]);
  assert.equal(Object.keys(entry!.before), ["sessionHash"]);
  await verifyBalanced(world.admin);
});

test("the workspace must exist, and a cursor be that of a page", async () => {
  const world = await createWorld();
  refused(await world.manage("GET", "/workspaces/ws_x/sessions"), 404, "Workspace ws_x not found");
  refused(
    await world.manage("GET", `${pathOf(world)}?cursor=a`),
    400,
    "Field cursor must be the nextCursor of an earlier response",
  );
});

test.run();
