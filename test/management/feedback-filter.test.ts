// Filters by feedback, compared with a plain one in JavaScript.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { longest } from "../stored-feedback.ts";
import { readAll, refused, refusedAs, taken, toLines, toQuery } from "./management.ts";

const test = suite("filter by feedback");

type Piece = { name: string; value: number | boolean | string; author: string };

const values: Record<string, fc.Arbitrary<Piece["value"]>> = {
  thumb: fc.boolean(),
  score: fc.constantFrom(-1, 0, 0.1, 0.5, 1, 1e15, 0.1 + 0.2),
  tone: fc.constantFrom(
    "kind",
    "1",
    "true",
    'a,b; "c"',
    "ﬁn\u{1f600}",
    "=odd",
    "thumb",
    longest.label(1),
    longest.label(2),
  ),
  [longest.name(1)]: fc.constantFrom(0, 1),
};
const piece = fc.constantFrom(...Object.keys(values)).chain((name) =>
  fc.record({ name: fc.constant(name), value: values[name]!, author: fc.constantFrom("", "ann", longest.author(1)) })
);
const history = fc.array(fc.array(piece, { maxLength: 5 }), { minLength: 12, maxLength: 24 });

/** Conditions, and what they say of a value. */
const conditions: Record<string, (piece: Piece) => boolean> = {
  "thumb=0": ({ name, value }) => name === "thumb" && value === false,
  "thumb=false": ({ name, value }) => name === "thumb" && value === false,
  "thumb!=false": ({ name, value }) => name === "thumb" && value === true,
  "thumb>0": ({ name, value }) => name === "thumb" && value === true,
  "score<0.5": ({ name, value }) => name === "score" && Number(value) < 0.5,
  "score < 0.5": ({ name, value }) => name === "score" && Number(value) < 0.5,
  "score<=  0.5": ({ name, value }) => name === "score" && Number(value) <= 0.5,
  "thumb = false": ({ name, value }) => name === "thumb" && value === false,
  "tone != kind": ({ name, value }) => name === "tone" && value !== "kind",
  "tone= kind": () => false, // a label may begin with a space
  "score<=5e-1": ({ name, value }) => name === "score" && Number(value) <= 0.5,
  "score>=1": ({ name, value }) => name === "score" && Number(value) >= 1,
  "score=0.30000000000000004": ({ name, value }) => name === "score" && value === 0.1 + 0.2,
  "score!=-1.0": ({ name, value }) => name === "score" && value !== -1,
  "score=good": () => false,
  "tone=kind": ({ name, value }) => name === "tone" && value === "kind",
  "tone!=kind": ({ name, value }) => name === "tone" && value !== "kind",
  "tone=1": ({ name, value }) => name === "tone" && value === "1",
  "tone=true": ({ name, value }) => name === "tone" && value === "true",
  'tone=a,b; "c"': ({ name, value }) => name === "tone" && value === 'a,b; "c"',
  "tone==odd": ({ name, value }) => name === "tone" && value === "=odd",
  "tone>0": () => false,
  "tone=score": () => false,
  "tone!=score": ({ name }) => name === "tone",
  [`tone=${longest.label(1)}`]: ({ name, value }) => name === "tone" && value === longest.label(1),
  [`tone!=${longest.label(2)}`]: ({ name, value }) => name === "tone" && value !== longest.label(2),
  [`${longest.name(1)}>=1`]: ({ name, value }) => name === longest.name(1) && value === 1,
  "other=1": () => false,
};
const filters = fc.record({
  feedback: fc.uniqueArray(fc.constantFrom(...Object.keys(conditions)), { minLength: 1, maxLength: 2 }),
  withoutFeedback: fc.constantFrom("*", "thumb", "score", "other", "kind", longest.name(1)),
}, { requiredKeys: [] });

const give = async (world: World, feedback: (Piece & { record: string })[]) =>
  taken<{ stored: number; refused: unknown[] }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, { feedback }),
  );

test("lists, exports, statistics and sessions find the records whose feedback a plain filter accepts", async () => {
  for (const records of fc.sample(history, { numRuns: isFull ? 12 : 2 })) {
    const world = await createWorld();
    const sent: { id: string; pieces: Map<string, Piece> }[] = [];
    for (const [nth, pieces] of records.entries()) {
      const { id } = taken<{ id: string }>(await world.submit({ ...goodBody, sessionId: `s${nth % 3}` }), 201);
      if (pieces.length > 0) {
        assert.equal((await give(world, pieces.map((piece) => ({ ...piece, record: id })))).refused, []);
      }
      sent.unshift({ id, pieces: new Map(pieces.map((piece) => [`${piece.name} ${piece.author}`, piece])) });
    }
    for (const { feedback = [], withoutFeedback } of fc.sample(filters, { seed: records.length, numRuns: 25 })) {
      const found = sent.filter(({ pieces }) => {
        const all = [...pieces.values()];
        return feedback.every((condition) => all.some(conditions[condition]!)) &&
          !all.some(({ name }) => withoutFeedback === "*" || name === withoutFeedback);
      }).map(({ id }) => id);
      const query = { feedback: feedback.join("\n") || undefined, withoutFeedback };
      for (const path of [`/deployments/${world.deployId}`, `/workspaces/${world.workspaceId}`]) {
        const list = await readAll<{ id: string }>(world, `${path}/diagnoses${toQuery({ ...query, limit: 5 })}`);
        assert.equal(list.map(({ id }) => id), found, JSON.stringify(query));
        const lines = await world.manage("GET", `${path}/diagnoses/export${toQuery(query)}`);
        assert.equal(toLines<{ id: string }>(lines.text).map(({ id }) => id), found);
        assert.is(taken(await world.manage("GET", `${path}/stats${toQuery(query)}`)).records, found.length);
      }
      const sessions = await readAll(world, `/workspaces/${world.workspaceId}/sessions${toQuery(query)}`);
      assert.is(sessions.length, new Set(found.map((id) => sent.findIndex((record) => record.id === id) % 3)).size);
    }
    await world.close();
  }
});

test("as many conditions as fit may be given", async () => {
  const world = await createWorld();
  const { id } = taken<{ id: string }>(await world.submit(), 201);
  await give(world, [{ record: id, name: "a", value: 1, author: "" }]);
  const path = `/workspaces/${world.workspaceId}/diagnoses`;
  for (const [condition, records] of [["a=1", 1], ["a>1", 0]] as const) {
    const feedback = ["a=1", condition, ...Array(248).fill("a=1")].join("\n");
    assert.is((await readAll(world, path + toQuery({ feedback }))).length, records);
    assert.is(
      taken(await world.manage("GET", `${path.replace("diagnoses", "stats")}${toQuery({ feedback })}`)).records,
      records,
    );
  }
});

test("a condition that cannot be read is refused in one sentence", async () => {
  const world = await createWorld();
  const path = `/workspaces/${world.workspaceId}/diagnoses`;
  const wanted = "Field feedback must be a name, one of = != < <= > >=, and true, false, a number or a label, as in " +
    "thumb=false or correctness<0.5";
  const bad = [
    "thumb",
    "=1",
    "thumb=",
    "thumb<good",
    "thumb < 0x1",
    " thumb=1",
    "thumb<0x1",
    "thumb=1\n",
    "thümb=1",
    "thumb!1",
  ];
  for (const feedback of bad) refused(await world.manage("GET", path + toQuery({ feedback })), 400, wanted);
  for (const withoutFeedback of ["**", "a b", "thumb=1"]) {
    refused(
      await world.manage("GET", path + toQuery({ withoutFeedback })),
      400,
      "Field withoutFeedback must be a name of feedback, or * for any",
    );
  }
  const feedback = `thumb=${"x".repeat(1000)}`;
  refused(
    await world.manage("GET", path + toQuery({ feedback })),
    400,
    "Field feedback must be at most 1000 characters",
  );
});

test("the bounds of a declared number are numbers that feedback may have", async () => {
  const world = await createWorld();
  const path = `/workspaces/${world.workspaceId}/feedback-names`;
  for (const bound of [1e15 + 1, -1e15 - 1, 1e20, 1e308, -1e308]) {
    for (const name of ["minimum", "maximum"]) {
      refusedAs(400, "invalid", await world.manage("POST", path, { name: "score", kind: "number", [name]: bound }));
    }
  }
  assert.equal(taken(await world.manage("GET", path)), { names: [] });
  const widest = { name: "score", kind: "number", minimum: -1e15, maximum: 1e15 };
  const { minimum, maximum } = taken<typeof widest>(await world.manage("POST", path, widest));
  assert.equal([minimum, maximum], [-1e15, 1e15]);
});

test("feedback of another workspace beside it in the log finds nothing", async () => {
  const world = await createWorld();
  const { id } = taken<{ id: string }>(await world.submit(), 201);
  await give(world, [{ record: id, name: "thumb", value: true, author: "" }]);
  const other = taken<{ id: string }>(await world.manage("POST", "/workspaces", { name: "Other" }), 201);
  for (const query of ["?feedback=thumb=true", "?withoutFeedback=*"]) {
    assert.equal(await readAll(world, `/workspaces/${other.id}/diagnoses${query}`), []);
  }
});

test.run();
