// The migration that lets histories of deployments have more actions keeps what they have.
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/open.ts";
import { noon } from "../helpers.ts";

const test = suite("the migration of histories");

test("histories stay as they are, and take that a deployment was archived", async () => {
  const at = migrations.findIndex(({ name }) => name === "006-extend-deployment-history");
  const database = openDatabase(":memory:");
  await migrate(database, migrations.slice(0, at), noon);
  const addChange = (revision: number, action: string, from: string | null, to: string) => ({
    sql: `insert into deployment_changes
        (deployment_id, revision, action, from_value, to_value, source, actor, note, created_at)
      values ('dep_1', ?, ?, ?, ?, 'api', 'Ada', 'Why', ?)`,
    args: [revision, action, from, to, noon + revision],
  });
  await database.write([
    { sql: "insert into workspaces (id, name, monthly_limit, created_at) values ('ws_1', 'A', 1, 0)" },
    { sql: "insert into prompts (id, workspace_id, name, created_at) values ('prompt_1', 'ws_1', 'a', 0)" },
    { sql: "insert into prompt_versions values ('prompt_1', 1, 'A', '', '[]', '{}', '', 0)" },
    {
      sql: `insert into deployments
          (id, workspace_id, name, prompt_id, current_version, is_active, revision, created_at)
        values ('dep_1', 'ws_1', 'a', 'prompt_1', 1, 1, 2, 0)`,
    },
    addChange(1, "created", null, "1"),
    addChange(2, "renamed", '"b"', '"a"'),
  ]);
  const histories = () => database.read({ sql: "select * from deployment_changes order by revision" });
  const before = await histories();
  await migrate(database, migrations, noon);
  assert.equal(await histories(), before);
  await database.write([addChange(3, "archived", "false", "true")]);
  assert.is((await histories()).length, 3);
});

test.run();
