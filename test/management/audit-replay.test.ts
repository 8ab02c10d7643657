// The audit log is complete: replaying its entries in order gives the current catalog. Several tokens make random
// concurrent changes. OPERATIONS sets how many, SEED which.
// Runs on Node alone.
import process from "node:process";
import { seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { sha256 } from "../../src/common/ids.ts";
import { createHistory, readCatalog, readEntries, replay } from "./histories.ts";
import { taken } from "./management.ts";

const test = suite("replay of the audit log");

const operations = Number(process.env.OPERATIONS ?? 1000);

test("replaying random concurrent changes by several tokens gives the current catalog, through two services too", async () => {
  const world = await createHistory(operations, seed);
  const entries = await readEntries(world);
  assert.ok(entries.length > operations / 4);
  const { catalog, hashes } = replay(entries);
  const actual = await readCatalog(world);
  assert.equal([...catalog.keys()].sort(), [...actual.keys()].sort());
  for (const [id, state] of catalog) {
    const item = actual.get(id)!;
    for (const [name, value] of Object.entries(state)) {
      // The reference of a deployment follows from the name of its prompt, and a workspace is its own.
      const isOwn = ["reference", "secretHash"].includes(name) || name === "workspaceId" && /^(ws|price)_/.test(id);
      if (!isOwn) assert.equal(item[name], value, `${id}: ${name}`);
    }
    if (!id.startsWith("prompt_")) continue;
    const versions = await world.database.read({
      sql: `select title, description, messages, llm_config, declarations from prompt_versions where prompt_id = ?
        order by version`,
      args: [id],
    });
    const contents = versions.map(({ llm_config: llmConfig, declarations, ...content }) =>
      JSON.stringify({ ...content, llmConfig, ...(declarations === null ? {} : { declarations }) })
    );
    assert.equal(await Promise.all(contents.map(sha256)), hashes.get(id));
  }
  const { audit } = taken<{ audit: object }>(await world.manage("GET", "/verify"));
  assert.equal(audit, {
    ...{ entries: entries.length, isIntact: true, brokenAt: null, head: entries.at(-1)!.hash },
    ...{ triggers: [], differences: 0, rows: [] },
  });
});

test.run();
