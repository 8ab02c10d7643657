// Publishing creates the prompt, the version and the deployment in one transaction.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Deployment, DeploymentResult } from "../../src/management/deployments/deployments.ts";
import type { Session } from "../../src/management/kernel/operation.ts";
import type { Publication as Published } from "../../src/management/release/publications.ts";
import type { Statement } from "../../src/database/database.ts";
import { publishPrompt } from "../actions.ts";
import { migrate } from "../../src/migrate.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { createTenant, createWorld, managementOf, promptFile, toPrompt } from "../helpers.ts";
import { publish, readAll, refused, taken } from "./management.ts";

const test = suite("publishing");

const sqld = await findSqld();

type Publication = { id: string; version: number; deployment: DeploymentResult };

const messagesOf = (content: string) => [{ role: "user", content }];

test("concurrent publications under a new name make one prompt, whose newest version is live", async () => {
  const world = await createWorld();
  const titles = Array.from({ length: 8 }, (_, index) => `title ${index}`);
  const answers = await Promise.all(titles.map((title) => publish(world, { deploy: "new", title })));
  const [{ id, deployment }] = answers.map(({ json }) => json as Publication) as [Publication];
  assert.equal(answers.map(({ json }) => (json as Publication).version).sort(), titles.map((_, index) => index + 1));
  const prompts = await readAll<{ id: string }>(world, `/workspaces/${world.workspaceId}/prompts`);
  assert.equal(prompts.map(({ id }) => id).sort(), [id, world.promptId].sort());
  const { currentVersion } = taken<Deployment>(await world.manage("GET", `/deployments/${deployment.id}`));
  assert.is(currentVersion, titles.length);
});

test("a push by name creates the prompt once, and then its versions", async () => {
  const world = await createWorld();
  const name = "support/assistant";
  const first = taken<Published>(await publish(world, { name }), 201);
  assert.equal([first.name, first.version, first.isNewPrompt, first.deployment], [name, 1, true, undefined]);
  assert.equal(first.variableChanges, { since: null, added: ["name"], removed: [] });
  const second = taken<Published>(await publish(world, { name, messages: messagesOf("{{b}} {{c}}") }), 201);
  assert.equal([second.id, second.version, second.isNewPrompt, second.isNew], [first.id, 2, false, true]);
  assert.equal(second.variableChanges, { since: 1, added: ["b", "c"], removed: ["name"] });
  const same = taken<Published>(await publish(world, { promptId: name, messages: messagesOf("{{b}} {{c}}") }));
  assert.equal([same.id, same.version, same.isNew], [first.id, 2, false]);
});

test("concurrent pushes under a new name make one prompt with all versions", async () => {
  const world = await createWorld();
  const titles = ["a", "b", "c", "d"];
  const answers = await Promise.all(titles.map((title) => publish(world, { name: "new", title })));
  const pushed = answers.map((answer) => taken<Published>(answer, 201));
  assert.is(new Set(pushed.map(({ id }) => id)).size, 1);
  assert.equal(pushed.map(({ version }) => version).sort(), [1, 2, 3, 4]);
  assert.is(pushed.filter(({ isNewPrompt }) => isNewPrompt).length, 1);
});

test("a token for one workspace publishes to a deployment by its name, whether that is new or not", async () => {
  const world = await createWorld();
  const { workspaceId } = world;
  const body = { name: "Ann", role: "publisher", workspaceId };
  const { token } = taken<{ token: string }>(await world.manage("POST", "/tokens", body), 201);
  const published = async (title: string, status: number) => {
    const publication = { ...promptFile, name: "new", title, deploy: "staging" };
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await world.manage("POST", `/workspaces/${workspaceId}/publish`, publication, headers);
    return taken<Publication>(answer, status).deployment.id;
  };
  assert.is(await published("first", 201), await published("second", 200));
});

test("publishing one name to staging and then to production makes one prompt with two deployments", async () => {
  const world = await createWorld();
  const name = "support/assistant";
  const staging = taken<Published>(await publish(world, { name, deploy: "staging" }), 201);
  const production = taken<Published>(await publish(world, { name, deploy: "production" }), 201);
  assert.equal([production.id, production.version, production.isNew], [staging.id, 1, false]);
  const references = [staging, production].map(({ deployment }) => deployment!.reference);
  assert.equal(references, [`${name}@staging`, `${name}@production`]);
});

test("removing live variables is refused without force, and changes nothing", async () => {
  const world = await createWorld();
  const content = { name: "greeting", messages: messagesOf("{{other}}"), deploy: "production" };
  const before = await readAll(world, "/prompts/greeting/versions");
  const answer = await publish(world, content);
  refused(
    answer,
    409,
    "This removes variables that are live in greeting@production: name. To publish anyway, set force",
  );
  assert.is((answer.json as { code: string }).code, "variables_removed");
  assert.equal(await readAll(world, "/prompts/greeting/versions"), before);
  // If nothing is live yet, nothing is removed. Without a deployment nothing goes live.
  taken(await publish(world, { ...content, deploy: "staging" }), 201);
  taken(await publish(world, { name: "greeting", messages: messagesOf("{{third}}") }), 201);
  const forced = taken<Published>(await publish(world, { ...content, force: true }));
  assert.equal([forced.version, forced.deployment!.currentVersion], [4, 4]);
  assert.equal(forced.variableChanges, { since: 1, added: ["other"], removed: ["name"] });
  taken(await publish(world, { ...content, messages: messagesOf("{{other}} {{more}}") }));
});

test("variables that go live during another push are not removed by it", async () => {
  const world = await createWorld();
  // The database is slow between the reads and the writes of a push, and another push comes in between.
  let overtake: (() => Promise<unknown>) | undefined;
  const { database } = world.admin;
  const slow = {
    ...database,
    async write(statements: Statement[]) {
      const first = overtake;
      overtake = undefined;
      await first?.();
      return await database.write(statements);
    },
  };
  const push = (content: object, database = world.database) =>
    publishPrompt(managementOf(database), world.workspaceId, {
      ...toPrompt({ ...promptFile, ...content }),
      deploy: "production",
    });
  overtake = () => push({ messages: messagesOf("{{name}} {{more}}") });
  const error = await push({ messages: messagesOf("{{name}}") }, slow).then(() => undefined, (error) => error);
  assert.is(error.code, "variables_removed");
  assert.is((await readAll(world, "/prompts/greeting/versions")).length, 2);
});

for (const kind of ["a file", "a server"] as const) {
  test(`several processes that publish concurrently to ${kind} make one prompt, whose newest version is live`, async () => {
    if (kind === "a server" && "missing" in sqld) return;
    const folder = await createFolder();
    const server = kind === "a server" ? await startSqld((sqld as { binary: string }).binary, folder.path) : undefined;
    const url = server?.url ?? `file:${folder.path}/ledger.db`;
    await migrate(url);
    const databases = Array.from({ length: 3 }, () => openDatabase(url, "manage"));
    try {
      const [admin, ...others] = databases.map((database) => managementOf(database)) as [Session, ...Session[]];
      const { workspaceId } = await createTenant(admin);
      for (let round = 0; round < 5; round++) {
        const deploy = `new-${round}`;
        const publishTitle = (admin: Session, index: number) =>
          publishPrompt(admin, workspaceId, { ...toPrompt({ ...promptFile, title: `title ${index}` }), deploy });
        const published = await Promise.all([admin, ...others, admin, ...others].map(publishTitle));
        assert.is(new Set(published.map(({ id }) => id)).size, 1);
        const { id } = published[0]!;
        const [row] = await admin.database.read({
          sql: `select d.current_version as live, d.revision, (select count(*) from prompts) as prompts,
              (select max(version) from prompt_versions where prompt_id = ?) as newest
            from deployments d where d.prompt_id = ?`,
          args: [id, id],
        });
        assert.equal({ ...row }, { live: 6, revision: 6, prompts: round + 2, newest: 6 });
      }
    } finally {
      for (const database of databases) database.close();
      await server?.stop("SIGKILL");
      await folder.remove();
    }
  });
}

test.run();
