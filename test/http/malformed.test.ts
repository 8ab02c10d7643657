// Generated requests, most of them wrong: never a crash or a 5xx, a refusal always says why, and whatever is accepted
// can be read back as it was sent. The seed is fixed, so a failure can be repeated.
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { listDiagnoses, verify } from "../actions.ts";
import { stringify } from "../../src/common/json-text.ts";
import { createWorld } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { authorization, deep, method, object, path, queryText, seed, string, wrongBody } from "./malformed.ts";

const test = suite("malformed requests");

async function newestRecord({ admin, deployId }: World): Promise<string> {
  return stringify((await listDiagnoses(admin, { deployId }, { limit: 1 })).items[0]);
}

test("any additional_properties are accepted, and come back as they were sent", async () => {
  const world = await createWorld({ monthlyLimit: 1e9, maxBodyBytes: 1024 * 1024 });
  const properties = fc.oneof({ weight: 30, arbitrary: object }, { weight: 1, arbitrary: deep });
  await fc.assert(
    fc.asyncProperty(properties, string, string, async (properties, sessionId, output) => {
      const content = `{"output":${output.text}}`;
      const body =
        `{"sessionId":${sessionId.text},"status":1,"content":${content},"additional_properties":${properties.text}}`;
      const { status, text } = await world.submit(body);
      assert.is(status, 201, text);
      const record = await newestRecord(world);
      assert.ok(record.includes(`"additional_properties":${properties.back}`), properties.text);
      assert.ok(record.includes(`"content":{"output":${output.back}}`), output.text);
      assert.is(JSON.parse(record).sessionId, JSON.parse(sessionId.back));
    }),
    { seed, numRuns: 700 },
  );
  assert.ok((await verify(world.admin)).balanced);
});

function isCalm(world: World, { status, json, text }: Answer): void {
  assert.ok(status < 500, text);
  assert.equal(world.logged, []);
  if (status >= 400) assert.type((json as { error: unknown }).error, "string");
}

test("whatever the body is, the answer is a 201 that can be read back or a refusal that says why", async () => {
  const world = await createWorld({ monthlyLimit: 1e9, maxBodyBytes: 1024 * 1024 });
  const headers = { Authorization: `Bearer ${world.key}` };
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(wrongBody, async (body) => {
      const init = { method: "POST", headers, body: body as RequestInit["body"] ?? null };
      const answer = await world.send(`/v1/diagnosis?deployId=${world.deployId}`, init);
      isCalm(world, answer);
      if (answer.status !== 201) return;
      accepted++;
      assert.is(JSON.parse(await newestRecord(world)).id, (answer.json as { id: string }).id);
    }),
    { seed, numRuns: 1000 },
  );
  assert.is((await listDiagnoses(world.admin, { deployId: world.deployId }, { limit: 1e6 })).items.length, accepted);
  assert.ok((await verify(world.admin)).balanced);
});

test("whatever method, path, query and Authorization are, the answer is a refusal that says why", async () => {
  const world = await createWorld();
  await fc.assert(
    fc.asyncProperty(method, path, queryText, authorization, async (method, path, query, authorization) => {
      const key = `Bearer ${world.key}`;
      for (const Authorization of [authorization, key]) {
        const answer = await world.send(`${path}?${query}`, { method, headers: { Authorization } });
        isCalm(world, method === "HEAD" ? { ...answer, json: { error: "" } } : answer);
        assert.ok(answer.status >= 400);
      }
    }),
    { seed, numRuns: 700 },
  );
});

test.run();
