// What was live in a deployment at a time, and who had made it so.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { LiveVersion } from "../../src/management/deployments/history.ts";
import { createWorld, noon, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { refused, refusedAs, taken } from "./management.ts";

const test = suite("as of");

const minute = 60_000;

const at = async ({ manage, deployId }: World, time: number, id: string = deployId) =>
  taken<LiveVersion>(await manage("GET", `/deployments/${encodeURIComponent(id)}/live?time=${time}`));

/** A world whose prompt has three versions, the first of which has been live since noon. */
async function createVersions(): Promise<World> {
  const world = await createWorld();
  for (const title of ["Second", "Third"]) {
    taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title }), 201);
  }
  return world;
}

test("names the version, when it went live, by whom, why and from which commit", async () => {
  const world = await createVersions();
  const { deployId, promptId, workspaceId, manage } = world;
  world.now = noon + minute;
  const origin = { commit: "0123abc", author: "Ada", change: "!7" };
  const deploy = [{ name: "production", version: 3, ifRevision: 1 }];
  const set = {
    workspaceId,
    prompts: [{ name: "greeting", ifLatest: 3, deploy }],
    origin,
    actor: "CI",
    note: "Shorter",
  };
  taken(await manage("POST", "/apply", set));
  world.now = noon + 9 * minute;
  const found = await at(world, noon + 5 * minute, "greeting@production");
  assert.equal(found, {
    ...{ deployId, reference: "greeting@production", promptId },
    ...{ at: noon + 5 * minute, version: 3, isActive: true },
    change: {
      ...{ revision: 2, action: "promoted", from: 1, to: 3, source: "api" },
      ...{ actor: found.change!.actor, note: "Shorter", origin, createdAt: noon + minute },
    },
  });
  assert.match(found.change!.actor, "CI");
});

test("nothing was live before the deployment was created, and a change counts from its millisecond on", async () => {
  const world = await createVersions();
  world.now = noon + minute;
  taken(await world.manage("POST", `/deployments/${world.deployId}/promote`, { version: 2 }));
  const versionsAt = (...times: number[]) => Promise.all(times.map(async (time) => (await at(world, time)).version));
  assert.equal(await versionsAt(0, noon - 1, noon, noon + minute - 1, noon + minute, 8.64e15), [
    null,
    null,
    1,
    1,
    2,
    2,
  ]);
  const { deployId, promptId } = world, reference = "greeting@production";
  const before = { deployId, reference, promptId, at: 0, version: null, isActive: false, change: null };
  assert.equal(await at(world, 0), before);
});

test("a deployment that was off or archived, or whose prompt was, has a version that served nobody", async () => {
  const world = await createVersions();
  const { deployId, promptId } = world;
  const changes = [
    `/deployments/${deployId}/deactivate`,
    `/deployments/${deployId}/activate`,
    `/deployments/${deployId}/archive`,
    `/prompts/${promptId}/archive`,
    `/deployments/${deployId}/unarchive`,
    `/prompts/${promptId}/unarchive`,
  ];
  for (const path of changes) {
    world.now += minute;
    taken(await world.manage("POST", path));
  }
  const seen = await Promise.all(changes.map((_, nth) => at(world, noon + (nth + 1) * minute)));
  assert.equal(seen.map(({ isActive }) => isActive), [false, true, false, false, false, true]);
  assert.ok(seen.every(({ version, change }) => version === 1 && change?.action === "created"));
});

test("a time must be one, and a deployment one that the caller may see", async () => {
  const { manage, deployId } = await createWorld();
  const live = `/deployments/${deployId}/live`;
  for (const time of ["", "?time=", "?time=-1", "?time=1.5", "?time=9e15", "?time=noon", "?time=2026-11-23"]) {
    assert.is((await manage("GET", live + time)).status, 400, time);
  }
  refused(await manage("GET", `${live}?time=1&at=1`), 400, "Unknown field at. Allowed: id, workspaceId, time");
  refusedAs(404, "deployment_not_found", await manage("GET", "/deployments/greeting@nowhere/live?time=1"));
});

/** A change of the deployment or its prompt, how long after the one before, and the version that it may name. */
const step = fc.record({
  verb: fc.constantFrom(
    ...["promote", "promote", "promote", "rollback", "activate", "deactivate", "archive", "unarchive"],
    ...["archive the prompt", "unarchive the prompt", "protect", "unprotect"],
  ),
  pause: fc.constantFrom(0, 0, 1, minute),
  version: fc.integer({ min: 1, max: 3 }),
});

test("for any history and any time it is what the deployment showed then", async () => {
  const history = fc.tuple(fc.array(step, { maxLength: 25 }), fc.array(fc.integer({ min: -1, max: 25 * minute })));
  await fc.assert(
    fc.asyncProperty(history, async ([steps, times]) => {
      const world = await createVersions();
      const { deployId, promptId, manage } = world;
      const states: { since: number; version: number; isActive: boolean; note: string }[] = [];
      const look = async (note: string) => {
        type Deployment = { currentVersion: number; isActive: boolean; archivedAt: number | null };
        const shown = taken<Deployment>(await manage("GET", `/deployments/${deployId}`));
        const last = states.at(-1), isSame = shown.currentVersion === last?.version;
        states.push({
          since: world.now,
          version: shown.currentVersion,
          isActive: shown.isActive && shown.archivedAt === null,
          note: isSame ? last.note : note,
        });
      };
      await look("");
      for (const [nth, { verb, pause, version }] of steps.entries()) {
        world.now += pause;
        const [word, prompt] = verb.split(" the ");
        const path = prompt === undefined ? `/deployments/${deployId}/${word}` : `/prompts/${promptId}/${word}`;
        const body = { note: `Change ${nth}`, ...word === "promote" && { version } };
        assert.ok((await manage("POST", path, body)).status < 500);
        await look(body.note);
      }
      for (const time of [...states.map(({ since }) => since), ...times.map((passed) => noon + passed)]) {
        const expected = states.findLast(({ since }) => since <= time);
        const { version, isActive, change } = await at(world, time);
        assert.equal(
          [version, isActive, change?.note, change?.to],
          [expected?.version ?? null, expected?.isActive ?? false, expected?.note, expected?.version],
        );
      }
      await world.close();
    }),
    { numRuns: isFull ? 120 : 20 },
  );
});

test.run();
