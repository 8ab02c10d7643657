// The migration that lets statistics read the names of a record from its document.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { noon } from "../helpers.ts";

const test = suite("the migration of statistics");

const stored: [measures: string, document: string][] = [
  ["840.5,52,9", '{"model":"gpt-4o"}'],
  [String.raw`null,null,null,[0,"a\t\n\"b","c"]`, '{"model":"gpt-4o","provider":"d"}'],
  ['1,2,3,[4,"gpt-4o","openai","0.5"]', "{}"],
];

test("records from before are read as they were", async () => {
  const database = openDatabase(":memory:");
  const at = migrations.findIndex(({ name }) => name.endsWith("-read-names-from-documents"));
  await migrate(database, migrations.slice(0, at), noon);
  await database.write(stored.map(([measures, document], position) => ({
    sql: "insert into diagnoses values (?, 'dep', 7, 's', 1, ?, ?)",
    args: [position, measures, document],
  })));
  await migrate(database, migrations, noon);
  const rows = await database.read({ sql: "select statistics from diagnoses order by position" });
  assert.equal(rows.map(({ statistics }) => statistics), stored.map(([measures]) => `7,1,${measures}`));
});

test("statistics are read from the index, not computed", async () => {
  const database = openDatabase(":memory:");
  await migrate(database, migrations, noon);
  const steps = await database.read({
    sql: "explain select group_concat(statistics) from diagnoses where position >> 8 = 1 and deployment_id = 'dep'",
  });
  assert.equal(steps.filter(({ opcode, p4 }) => /Func/.test(String(opcode)) && /->>|replace/.test(String(p4))), []);
});

test.run();
