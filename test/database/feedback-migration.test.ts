// The migration that counts feedback for statistics.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { noon } from "../helpers.ts";
import { longest } from "../stored-feedback.ts";

const test = suite("the migration of feedback");

// Numbers and labels of the same form, a label that is a name, and the longest ones.
const pieces: [position: number, name: string, author: string, value: number | string][] = [
  [1, "thumb", "", 1],
  [1, "thumb", "ann", 1],
  [1, "thumb", longest.author(1), 0],
  [1, "score", "", 0.1],
  [1, "tone", "", "1"],
  [1, "tone", "ann", "thumb"],
  [2, "tone", "", "1"],
  [2, longest.name(1), "", longest.label(1)],
  [2, longest.name(1), "ann", longest.label(1)],
];
const changes = [[1, "thumb", "", 0], [1, "score", "", 0.5], [2, "tone", "", "kind"]];

const insert = (database: Database) =>
  database.write([
    ...pieces.map((args) => ({
      sql: `insert into feedback (position, name, author, value, comment, source, given_at, change)
        values (?, ?, ?, ?, '', 'user', 1, 2)`,
      args,
    })),
    ...changes.map((args) => ({
      sql: `insert into earlier_feedback (position, name, author, value, change, comment, source, given_at, ended_at)
        values (?, ?, ?, ?, 1, '', 'user', 1, 1)`,
      args,
    })),
  ]);

/** All counts, with words in place of their numbers. */
const readCounts = (database: Database) =>
  Promise.all([
    database.read({
      sql:
        `select c.position, n.word as name, coalesce(w.word, c.value) as value, typeof(coalesce(w.word, c.value)) as type,
          c.pieces
        from feedback_counts c join feedback_words n on n.id = c.name_id
        left join feedback_words w on n.word in ('tone', ?) and w.id = c.value
        order by c.position, n.word, 3`,
      args: [longest.name(1)],
    }),
    database.read({ sql: "select word, uses from feedback_words order by word" }),
    database.read({ sql: "select * from feedback_histories order by position" }),
  ]);

test("feedback from before is counted as it is when it is given", async () => {
  const [before, since] = [openDatabase(":memory:"), openDatabase(":memory:")];
  const at = migrations.findIndex(({ name }) => name.endsWith("-count-feedback"));
  await migrate(before, migrations.slice(0, at), noon);
  await insert(before);
  await migrate(before, migrations, noon);
  await migrate(since, migrations, noon);
  await insert(since);
  const counts = await readCounts(before);
  assert.equal(counts, await readCounts(since));
  assert.equal(counts.map(({ length }) => length), [7, 6, 2]);
  for (const database of [before, since]) {
    await database.write([{ sql: "delete from feedback" }, { sql: "delete from earlier_feedback" }]);
    assert.equal(await readCounts(database), [[], [], []]);
  }
});

test("the migration sorts no feedback, which SQLite would do in memory", async () => {
  const database = openDatabase(":memory:");
  await migrate(database, migrations, noon);
  const { sql: script } = migrations.find(({ name }) => name.endsWith("-count-feedback"))!;
  const inserts = script.match(/^insert[^;]*/gm)!;
  assert.is(inserts.length, 4);
  for (const sql of inserts) {
    const plan = await database.read({ sql: `explain query plan ${sql}` });
    assert.not.match(JSON.stringify(plan), "TEMP B-TREE", sql);
  }
});

test.run();
