// Publishing: prompt, version and deployment are made in one transaction, or none of them is.
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { Deployment, DeploymentResult } from "../../src/management/deployments.ts";
import type { Management } from "../../src/management/operation.ts";
import { publishPrompt } from "../actions.ts";
import { migrate } from "../../src/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { createTenant, createWorld, managementOf, promptFile, toPrompt } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, taken } from "./management.ts";

const test = suite("publishing");

const sqld = await findSqld();

type Publication = { id: string; version: number; deployment: DeploymentResult };

const publish = (world: World, body: object) =>
  world.manage("POST", `/workspaces/${world.workspaceId}/publish`, { ...promptFile, ...body });

test("publishing at once under a new name makes one prompt, whose newest version is live", async () => {
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

for (const kind of ["a file", "a server"] as const) {
  test(`several processes that publish at once to ${kind} make one prompt, whose newest version is live`, async () => {
    if (kind === "a server" && "missing" in sqld) return;
    const folder = await createFolder();
    const server = kind === "a server" ? await startSqld((sqld as { binary: string }).binary, folder.path) : undefined;
    const url = server?.url ?? `file:${folder.path}/ledger.db`;
    await migrate(url);
    const databases = Array.from({ length: 3 }, () => openDatabase(url, "manage"));
    try {
      const [admin, ...others] = databases.map((database) => managementOf(database)) as [Management, ...Management[]];
      const { workspaceId } = await createTenant(admin);
      for (let round = 0; round < 5; round++) {
        const deploy = `new ${round}`;
        const publishTitle = (admin: Management, index: number) =>
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
