// Each number on a page is that of the command line, over random histories.
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { runIn } from "../cli/places.ts";
import { createFolder } from "../conformance/processes.ts";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/open.ts";
import { createWorld, noon, promptFile, toPrompt } from "../helpers.ts";
import { promoteDeployment, pushPrompt, updateWorkspace } from "../actions.ts";
import { numberAt, visit } from "./visitor.ts";

const test = suite("numbers");

const folder = await createFolder();
test.after(() => folder.remove());

const record = fc.record({
  status: fc.constantFrom(0, 1, 2),
  latency: fc.oneof(fc.constant(undefined), fc.nat(5_000)),
  promptVersion: fc.constantFrom(1, 2),
  cost: fc.oneof(fc.constant(undefined), fc.nat(1_000).map((mills) => mills / 1_000)),
  tokens: fc.oneof(fc.constant(undefined), fc.tuple(fc.nat(4_000), fc.nat(500))),
});
const history = fc.record({ reads: fc.nat(6), records: fc.array(record, { minLength: 1, maxLength: 25 }) });

let databases = 0;

/** All numbers of a page, with the text before them in the same row or pair, in order. */
const valuesIn = (page: string): string[] => Array.from(page.matchAll(/<data value="([^"]*)"/g), ([, value]) => value!);

test("of usage, statistics and comparison", async () => {
  const property = fc.asyncProperty(history, async ({ reads, records }) => {
    const DATABASE_URL = `file:${folder.path}/${databases++}.db`;
    const database = openDatabase(DATABASE_URL);
    await migrate(database, migrations, noon);
    const world = await createWorld({ database });
    const { admin, workspaceId, deployId, promptId } = world;
    try {
      await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
      await promoteDeployment(admin, deployId, { version: 2 });
      const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];
      await updateWorkspace(admin, workspaceId, { statuses });
      for (let nth = 0; nth < reads; nth++) await world.read();
      for (const { tokens, ...given } of records) {
        const usage = tokens && { additional_properties: { prompt_tokens: tokens[0], completion_tokens: tokens[1] } };
        const { status } = await world.submit({
          sessionId: "s",
          content: { input: "a", output: "b" },
          ...given,
          ...usage,
        });
        assert.is(status, 201);
      }
      const cli = async (...args: string[]) => JSON.parse((await runIn([...args, "--json"], { DATABASE_URL })).out);
      const visitor = await visit(world);

      const usage = await cli("usage", "--workspace", workspaceId, "--month", "2026-11");
      for (const path of ["", "/usage?month=2026-11"]) {
        const page = await visitor.see(path);
        for (const name of ["used", "remaining", "reads", "submits"]) {
          assert.is(numberAt(page, name), usage[name], `${name} on ${path}`);
        }
      }

      const stats = await cli("stats", "--deploy", deployId);
      const shown = valuesIn(await visitor.see(`/deployments/${deployId}/stats?last=all`));
      for (const { records, failures, latency, tokens, cost } of [...stats.versions, stats.all]) {
        const numbers = [records, failures?.records, failures?.share, failures?.low, failures?.high];
        numbers.push(latency.p50, latency.p95, latency.p99, latency.mean, tokens.mean, cost.mean);
        if (tokens.records > 0) numbers.push(tokens.prompt, tokens.completion);
        if (cost.records > 0) numbers.push(cost.total);
        for (const number of numbers.filter((number) => number !== null && number !== undefined)) {
          assert.ok(shown.includes(String(number)), `${number} of ${JSON.stringify(stats)}`);
        }
      }

      const comparison = await cli("stats", "compare", `${deployId}:1`, `${deployId}:2`);
      const page = await visitor.see(`/prompts/${promptId}/compare?from=1&to=2`);
      assert.ok(page.toLowerCase().includes(comparison.sentence.toLowerCase()), comparison.sentence);
    } finally {
      world.close();
    }
  });
  await fc.assert(property, { numRuns: 8 });
});

test.run();
