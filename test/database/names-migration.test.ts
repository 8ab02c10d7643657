// The migration that gives names to the prompts and deployments of an older database.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { noon } from "../helpers.ts";

const test = suite("migration 005");

type Made = {
  prompts: [id: string, workspaceId: string, title: string][];
  deployments: [id: string, promptId: string, name: string][];
};

/** Migrates a database with these prompts and deployments. Returns their names and the notices. */
async function nameAll({ prompts, deployments }: Made) {
  const database = openDatabase(":memory:");
  await migrate(database, migrations.slice(0, 4), noon);
  const run = (sql: string, ...args: (string | number)[]) => database.write([{ sql, args }]);
  for (const id of new Set(prompts.map(([, workspaceId]) => workspaceId))) {
    await run("insert into workspaces values (?, 'Acme', 10, null, 1)", id);
  }
  for (const [id, workspaceId, title] of prompts) {
    await run("insert into prompts (id, workspace_id, created_at) values (?, ?, 1)", id, workspaceId);
    for (const [version, name] of ["Old title", title].entries()) {
      await run(
        "insert into prompt_versions values (?, ?, ?, '', '[]', '{}', '', 1)",
        id,
        version + 1,
        name,
      );
    }
  }
  for (const [id, promptId, name] of deployments) {
    const [, workspaceId] = prompts.find(([id]) => id === promptId)!;
    await run(
      `insert into deployments (id, workspace_id, name, prompt_id, current_version, is_active, revision, created_at)
      values (?, ?, ?, ?, 1, 1, 3, 1)`,
      id,
      workspaceId,
      name,
      promptId,
    );
  }
  const said: string[] = [];
  assert.equal(await migrate(database, migrations.slice(0, 5), noon, { notify: (notice) => said.push(notice) }), [
    "005-name-prompts",
  ]);
  const notices = said.filter((notice) => !/^Appl/.test(notice));
  const namesIn = async (table: string) =>
    Object.fromEntries(
      (await database.read({ sql: `select id, name from ${table} order by id` })).map(({ id, name }) => [id, name]),
    );
  return { database, notices, prompts: await namesIn("prompts"), deployments: await namesIn("deployments") };
}

test("a prompt is named after the title of its newest version", async () => {
  const titles: [title: string, name: string][] = [
    ["Support assistant", "support-assistant"],
    ["  FAQ: v1.2 (final)!  ", "faq-v1.2-final"],
    ["a/b_c", "a-b_c"],
    ["Übersicht", "bersicht"],
    ["…", "prompt"],
    ["x".repeat(200), "x".repeat(150)],
  ];
  const { prompts } = await nameAll({
    prompts: titles.map(([title], index) => [`prompt_${index}`, "ws_1", title]),
    deployments: [],
  });
  assert.equal(Object.values(prompts), titles.map(([, name]) => name));
});

test("prompts with the same title get a number, except the first, or their id if that is taken", async () => {
  const { prompts, notices } = await nameAll({
    prompts: [
      ["prompt_01a", "ws_1", "Chat"],
      ["prompt_01b", "ws_1", "chat"],
      ["prompt_01c", "ws_1", "Chat!"],
      ["prompt_01d", "ws_1", "Chat 3"],
      ["prompt_01e", "ws_2", "Chat"],
    ],
    deployments: [],
  });
  assert.equal(prompts, {
    prompt_01a: "chat",
    prompt_01b: "chat-2",
    prompt_01c: "chat-01c",
    prompt_01d: "chat-3",
    prompt_01e: "chat",
  });
  assert.equal(notices, ["Named 5 prompts after their titles. See prompt list and prompt rename"]);
});

test("a deployment's name becomes lower-case and unique for its prompt, and its history shows that", async () => {
  const { database, deployments, notices } = await nameAll({
    prompts: [["prompt_01a", "ws_1", "Chat"], ["prompt_01b", "ws_1", "Other"]],
    deployments: [
      ["dep_01a", "prompt_01a", "production"],
      ["dep_01b", "prompt_01a", "Production"],
      ["dep_01c", "prompt_01b", "production"],
      ["dep_01d", "prompt_01b", "Über EU/1"],
      ["dep_01e", "prompt_01b", "/"],
    ],
  });
  assert.equal(deployments, {
    dep_01a: "production",
    dep_01b: "production-2",
    dep_01c: "production",
    dep_01d: "ber-eu-1",
    dep_01e: "deployment",
  });
  const changes = await database.read({
    sql: "select deployment_id, revision, action, from_value, to_value from deployment_changes order by 1",
  });
  assert.equal(changes.map((row) => Object.values(row)), [
    ["dep_01b", 4, "renamed", '"Production"', '"production-2"'],
    ["dep_01d", 4, "renamed", '"Über EU/1"', '"ber-eu-1"'],
    ["dep_01e", 4, "renamed", '"/"', '"deployment"'],
  ]);
  const revisions = await database.read({ sql: "select id from deployments where revision = 4 order by id" });
  assert.equal(revisions.map(({ id }) => id), ["dep_01b", "dep_01d", "dep_01e"]);
  assert.is(
    notices[1],
    "Renamed 3 deployments, since names are now lower-case and unique for each prompt. See deploy history",
  );
});

test("a database without prompts gives no notices", async () => {
  assert.equal((await nameAll({ prompts: [], deployments: [] })).notices, []);
});

test.run();
