// The agreement of two authors of feedback.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { FeedbackAgreement } from "../../src/management/feedback/feedback-agreement.ts";
import { createWorld, goodBody } from "../helpers.ts";
import { longest } from "../stored-feedback.ts";
import type { World } from "../helpers.ts";
import { refused, taken, toQuery } from "./management.ts";

const test = suite("agreement of feedback");

type Given = [name: string, author: string, value: unknown];

/** Submits a record with feedback. */
async function judge(world: World, ...given: Given[]): Promise<void> {
  const { id } = taken<{ id: string }>(await world.submit(goodBody), 201);
  const feedback = given.map(([name, author, value]) => ({ record: id, name, author, value }));
  const path = `/workspaces/${world.workspaceId}/feedback`;
  assert.equal(taken(await world.manage("POST", path, { feedback })).refused, []);
}

const ask = (world: World, query: Record<string, string>) =>
  world.manage("GET", `/workspaces/${world.workspaceId}/feedback-agreement${toQuery(query)}`);

const agreementOn = async (world: World, name: string, authors: string, more = {}) =>
  taken<FeedbackAgreement>(await ask(world, { name, authors, ...more }));

const values: Record<string, unknown[]> = {
  thumb: [true, false],
  tone: ["kind", "curt", 'odd, "very"'],
  score: [0, 0.5, 1],
  [longest.name(1)]: [longest.label(1), longest.label(2), "1"],
};

test("Cohen's kappa is that of published tables", async () => {
  // Rows are what ann gave, columns what bob gave. https://en.wikipedia.org/wiki/Cohen%27s_kappa has the first three, and
  // the documentation of cohen_kappa_score in scikit-learn the others.
  const tables: [name: string, table: number[][], kappa: number][] = [
    ["thumb", [[20, 5], [10, 15]], 0.4],
    ["thumb", [[45, 15], [25, 15]], 0.1304],
    ["thumb", [[25, 35], [5, 35]], 0.2593],
    ["tone", [[2, 0, 0], [1, 1, 0], [0, 0, 1]], 0.6875],
    ["score", [[2, 0, 0], [0, 0, 1], [1, 0, 2]], 0.4286],
    [longest.name(1), [[2, 0, 0], [1, 1, 0], [0, 0, 1]], 0.6875],
  ];
  for (const [name, table, kappa] of tables) {
    const world = await createWorld();
    let records = 0, agreed = 0;
    for (const [row, counts] of table.entries()) {
      for (const [column, count] of counts.entries()) {
        records += count;
        if (row === column) agreed += count;
        for (let nth = 0; nth < count; nth++) {
          await judge(world, [name, "ann", values[name]![row]], [name, "bob", values[name]![column]]);
        }
      }
    }
    // Of these, one judged alone, and a third author judged all.
    await judge(world, [name, "ann", values[name]![0]], [name, "eve", values[name]![0]]);
    const found = await agreementOn(world, name, "ann,bob");
    assert.equal([found.records, found.agreed], [records, agreed]);
    assert.ok(Math.abs(found.kappa! - kappa) < 5e-5, `${found.kappa} for ${kappa}`);
    assert.is((await agreementOn(world, name, "bob,ann")).kappa, found.kappa);
    await world.close();
  }
});

test("the filters of records hold, on other names too, and the author of a single voice is empty", async () => {
  const world = await createWorld();
  await judge(world, ["thumb", "ann", true], ["thumb", "", true], ["score", "ann", 1]);
  await judge(world, ["thumb", "ann", true], ["thumb", "", false], ["score", "ann", 0]);
  const { records, agreed } = await agreementOn(world, "thumb", "ann,");
  assert.equal({ records, agreed }, { records: 2, agreed: 1 });
  const some = await agreementOn(world, "thumb", ",ann", { feedback: "score>0" });
  assert.equal([some.records, some.agreed, some.kappa], [1, 1, null]);
});

test("a name without feedback has no agreement, and anything but two authors is refused", async () => {
  const world = await createWorld();
  const none = { name: "thumb", kind: null, records: 0, agreed: 0, kappa: null };
  assert.equal(await agreementOn(world, "thumb", "a,b"), none);
  for (const authors of ["ann", "ann,ann", "a,b,c", "a,b\n"]) {
    const wanted = "Field authors must be two different authors with a comma between them";
    refused(await ask(world, { name: "thumb", authors }), 400, wanted);
  }
});

test.run();
