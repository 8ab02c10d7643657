// The search for the newest records of sessions.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { hashApiKey } from "../../src/common/ids.ts";
import type { DeploymentRef } from "../../src/common/reference.ts";
import { findNewestOfSessions } from "../../src/feedback/feedback-sessions.ts";
import { createTenant, createWorld, goodBody, noon } from "../helpers.ts";
import { fillLog } from "./long-log.ts";

const test = suite("search for sessions");

const names = ["a", "b", "\u{1f600}", "a\0b", "\ud800", ""];
const deployments = ["greeting@production", "greeting@staging"];

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ name: fc.constantFrom(...names), deployment: fc.constantFrom(...deployments) }) },
  { weight: 1, arbitrary: fc.constantFrom(1, 300, 5_000, 80_000) },
);

test("it finds the newest record of each session, wherever in the log that is", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.boolean(), async (steps, isDeleted) => {
      const world = await createWorld();
      await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, {
        name: "staging",
        promptId: world.promptId,
      });
      const other = await createTenant(world.admin, 1000, "Other");
      const newest = new Map<string, string>();
      const placeOf = (deployment: string, name: string) => JSON.stringify([deployment, name.toWellFormed()]);
      const before = new Map<string, string>();
      for (const each of steps) {
        if (typeof each === "number") {
          await fillLog(world.database, other, each);
          continue;
        }
        const { name, deployment } = each, place = placeOf(deployment, name);
        const answer = await world.submit({ ...goodBody, sessionId: name }, deployment);
        const known = newest.get(place);
        if (known !== undefined) before.set(place, known);
        newest.set(place, (answer.json as { id: string }).id);
      }
      if (isDeleted) {
        for (const [place, id] of newest) {
          await world.manage("DELETE", `/diagnoses/${id}`);
          const earlier = before.get(place);
          if (earlier === undefined) newest.delete(place);
          else newest.set(place, earlier);
        }
      }
      const sessions = [...deployments, "greeting@none"].flatMap((deployment) =>
        names.map((sessionId) => ({ sessionId, deployId: deployment as DeploymentRef }))
      );
      const key = { keyHash: await hashApiKey(world.key), now: noon };
      const result = await findNewestOfSessions(world.database, key, sessions, () => false);
      if (result.refusal !== undefined) throw new Error(result.refusal);
      assert.ok(result.isComplete);
      const rows = await world.database.read({
        sql: `select d.position, 'diag_' || m.id || printf('%02x', d.position - m.position) as id from diagnoses d
          join commits m on m.position = (select max(position) from commits where position <= d.position)`,
      });
      const ids = new Map(rows.map(({ position, id }) => [position, id]));
      const found = sessions.flatMap(({ deployId, sessionId }, place) => {
        const position = result.positions.get(place);
        return position === undefined ? [] : [[placeOf(deployId, sessionId), ids.get(position)]];
      });
      assert.equal(new Map(found as [string, string][]), newest);
    }),
    { numRuns: 20, includeErrorInReport: true },
  );
});

test.run();
