// The migration that gives prices caches and tiers.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { noon } from "../helpers.ts";

const test = suite("the migration of prices");

test("prices and workspaces from before go on as they were, and records are counted again", async () => {
  const database = openDatabase(":memory:");
  const at = migrations.findIndex(({ name }) => name.endsWith("-price-caches-and-tiers"));
  await migrate(database, migrations.slice(0, at), noon);
  await database.write([
    {
      sql: `insert into prices (id, provider, model, input, cached_input, output, valid_from, created_at)
        values ('price_1', '*', 'm', '2', null, '8', 0, 0)`,
    },
    { sql: "insert into workspaces (id, name, monthly_limit, created_at) values ('ws_1', 'W', 1, 0)" },
    { sql: "update reindexing set position = 5" },
  ]);
  await migrate(database, migrations, noon);
  const columns = "input, cached_input, cache_write, cache_write_hour, output, tiers, unpriced_media";
  assert.equal(Object.values({ ...(await database.read({ sql: `select ${columns} from prices` }))[0] }), [
    ...["2", null, null, null, "8", "[]", "[]"],
  ]);
  assert.is((await database.read({ sql: "select cost_source from workspaces" }))[0]!.cost_source, "provider");
  assert.is((await database.read({ sql: "select position from reindexing" }))[0]!.position, 0);
  database.close();
});

test.run();
