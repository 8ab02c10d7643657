// A refusal of a field says which one: `field` has its path, and `expected` what it must be. The inputs of all operations are
// walked, and each rule beyond their shapes has a case.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { pathMembers } from "../../src/faces/management-openapi.ts";
import { operations } from "../../src/management/index.ts";
import type { AnyOperation } from "../../src/management/kernel/operation.ts";
import { hasType, isOptional, metaOf, partsOf } from "../../src/schema/struct.ts";
import type { Schema } from "../../src/schema/struct.ts";
import { createWorld, promptFile } from "../helpers.ts";
import type { Answer } from "../helpers.ts";
import { publish, taken } from "./management.ts";

const test = suite("fields of refusals");

type Refused = { error: string; code: string; field?: string; expected?: string };

/** A place in an input: its path, the input with a wrong value there, and the paths of members that may be missed before. */
type Place = { path: string; input: unknown; missed: string[] };

/** All places in an object, and in the objects and lists in it. */
function placesIn(members: Schema, prefix = ""): Place[] {
  const missed: string[] = [];
  return Object.entries(members).flatMap(([name, struct]) => {
    const path = prefix + name, before = [...missed];
    if (!isOptional(struct)) missed.push(path);
    const own: Place = { path, input: { [name]: hasType(struct, "object") ? 7 : { wrong: 1 } }, missed: before };
    const isList = hasType(struct, "array"), item = isList ? partsOf(struct)[0] : struct;
    const inner = item === undefined ? undefined : metaOf(item).members;
    const nested = inner === undefined ? [] : placesIn(inner, isList ? `${path}[0].` : `${path}.`).map((place) => ({
      path: place.path,
      input: { [name]: isList ? [place.input] : place.input },
      missed: [...before, ...place.missed],
    }));
    return [own, ...nested];
  });
}

const world = await createWorld();

/** The path of an operation, with ids that need not exist: the input is refused before they are looked up. */
const pathTo = ({ path }: AnyOperation) =>
  path.replace(/{(\w+)}/g, (_, name: string) => name === "version" ? "1" : name === "month" ? "2026-11" : "x");

let places = 0, own = 0;

for (const operation of operations) {
  const { id, method, input: { schema } } = operation, inPath = pathMembers(operation);
  const outside = Object.fromEntries(
    Object.entries(schema).filter(([name]) => !inPath.includes(name) && name !== "ifRevision"),
  );
  test(`${id} names the field of each wrong value`, async () => {
    for (const { path, input, missed } of placesIn(outside)) {
      const answer = method === "POST" || method === "PATCH"
        ? await world.manage(method, pathTo(operation), input as object)
        : await world.manage(method, `${pathTo(operation)}?${path}=%00`);
      // Some members take any text.
      if (answer.status !== 400) continue;
      const { error, field = "none", expected } = answer.json as Refused;
      assert.ok(field === path || missed.includes(field), `${path}: ${answer.text}`);
      assert.ok(error.includes(field), answer.text);
      if (error.startsWith("Field ")) assert.is(error, `Field ${field} must be ${expected}`);
      places++;
      if (field === path) own++;
    }
  });
}

test("most wrong values are reached by the walk", () => {
  assert.ok(places > 500, `${places} places`);
  assert.ok(own > places / 2, `${own} of ${places}`);
});

type Case = [field: string, status: number, answer: () => Promise<Answer>];

const inWorkspace = (path: string, body: object) => () =>
  world.manage("POST", `/workspaces/${world.workspaceId}/${path}`, body);
const ofDeployment = (path: string, body: object) => () =>
  world.manage("POST", `/deployments/${world.deployId}/${path}`, body);
const hook = { url: "https://example.com/hook" };
const past = { expiresAt: 1 };
const release = (...prompts: object[]) => () =>
  world.manage("POST", "/apply", { workspaceId: world.workspaceId, prompts });

const rules: Case[] = [
  ["expiresAt", 400, inWorkspace("keys", past)],
  ["feedbackOnly", 400, inWorkspace("keys", { readOnly: true, feedbackOnly: true })],
  ["submitOnly", 400, inWorkspace("keys", { readOnly: true, submitOnly: true })],
  ["deployId", 404, inWorkspace("keys", { deployId: "greeting@nowhere" })],
  ["expiresAt", 400, () => world.manage("POST", "/tokens", { name: "x", role: "viewer", ...past })],
  [
    "workspaceId",
    400,
    () => world.manage("POST", "/tokens", { name: "x", role: "owner", workspaceId: world.workspaceId }),
  ],
  ["id", 404, () => world.manage("GET", "/keys/key_none")],
  ["id", 404, () => world.manage("GET", "/prompts/none")],
  ["name", 409, inWorkspace("prompts", { ...promptFile, name: "greeting" })],
  ["promptId", 400, inWorkspace("publish", { ...promptFile, name: "other", promptId: "greeting" })],
  ["ifUnique", 409, inWorkspace("publish", { ...promptFile, name: "other", ifUnique: true })],
  ["force", 409, () => publish(world, { deploy: world.deployId, messages: [{ role: "user", content: "Hi" }] })],
  ["version", 400, ofDeployment("promote", {})],
  ["version", 404, ofDeployment("promote", { version: 9 })],
  ["from", 404, ofDeployment("promote", { from: "nowhere" })],
  ["version", 409, ofDeployment("rollback", { version: 9 })],
  ["certain", 400, ofDeployment("rollout", { version: 1, percent: 10, certain: 95 })],
  ["guard", 400, ofDeployment("rollout", { version: 1, percent: 10, guard: "p95=+5,failures=+1" })],
  ["version", 409, ofDeployment("rollout", { version: 1, percent: 10 })],
  ["minimum", 400, inWorkspace("feedback-names", { name: "x", kind: "boolean", minimum: 1 })],
  ["maximum", 400, inWorkspace("feedback-names", { name: "x", kind: "boolean", maximum: 1 })],
  ["minimum", 400, inWorkspace("feedback-names", { name: "x", kind: "number", minimum: 2, maximum: 1 })],
  ["labels", 400, inWorkspace("feedback-names", { name: "x", kind: "number", labels: ["a"] })],
  ["condition", 400, inWorkspace("alerts", { condition: "nothing>1" })],
  ["condition", 400, inWorkspace("alerts", { condition: "p95>5%" })],
  ["atLeast", 400, inWorkspace("alerts", { condition: "records<1", atLeast: 5 })],
  ["url", 400, () => world.manage("POST", "/webhooks", { url: "http://127.0.0.1/" })],
  ["events", 400, () => world.manage("POST", "/webhooks", { ...hook, events: "nothing.*" })],
  ["credential", 400, () => world.manage("POST", "/webhooks", { ...hook, credential: "x" })],
  ["types", 400, () => world.manage("GET", "/events?types=nothing.*")],
  ["after", 400, () => world.manage("GET", "/events?after=999999999")],
  ["cursor", 400, () => world.manage("GET", `/workspaces/${world.workspaceId}/diagnoses?cursor=${"a".repeat(59)}`)],
  ["status", 400, () => world.manage("GET", `/workspaces/${world.workspaceId}/diagnoses?status=nothing`)],
  ["limit", 400, () => world.manage("GET", "/workspaces?limit=1&limit=2")],
  ["confirm", 409, () => world.manage("DELETE", `/workspaces/${world.workspaceId}?confirm=Other`)],
  ["prompts", 400, release({ name: "a", ifLatest: null }, { name: "a", ifLatest: null })],
  ["prompts[1].title", 400, release({ name: "greeting", ifLatest: 1 }, { name: "b", ifLatest: null, messages: [] })],
  [
    "prompts[0].ifLatest",
    400,
    () =>
      world.manage(
        "POST",
        "/apply",
        `{"workspaceId":"${world.workspaceId}","prompts":[{"name":"a","ifLatest":1.00000000000000000001}]}`,
      ),
  ],
];

for (const [nth, [field, status, send]] of rules.entries()) {
  test(`rule ${nth} names ${field}`, async () => {
    const answer = await send();
    assert.is(taken<Refused>(answer, status).field, field, answer.text);
  });
}

test.run();
