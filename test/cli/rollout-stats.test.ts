// The statistics of a rollout on the command line.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openPlaces, words } from "./places.ts";

const test = suite("statistics of rollouts on the command line");

const { everywhere } = await openPlaces(test);

everywhere("stats rollout shows the newest rollout, or the one that is given", async ({ cli, data, setUp }) => {
  const { workspaceId, deployId, promptId } = await setUp();
  const none = await cli(words`stats rollout ${deployId}`);
  assert.equal([none.code, none.said], [1, `promptledger: Deployment ${deployId} has had no rollout\n`]);
  const content = JSON.stringify({ title: "Second", messages: [{ role: "user", content: "x" }] });
  await data(words`prompt push - --workspace ${workspaceId} --prompt ${promptId}`, content);
  const start = words`deploy rollout ${deployId} --version 2 --percent 12.5 --guard failures=+2%,p95=+20% --certain 95`;
  const { rollout } = await data<{ rollout: { id: string; guard: string; certain: number } }>(start);
  assert.equal([rollout.guard, rollout.certain], ["failures=+2%,p95=+20%", 95]);
  const { out } = await cli(words`stats rollout ${deployId}`);
  assert.match(out, /^rollout +ro_/m, out);
  assert.match(out, /base 1 +candidate 2 +difference +at any time +plain +needed/);
  assert.match(out, /No record of this rollout yet\.\nNo session has begun yet\.\n$/);
  const found = await data<{ rollout: { id: string } }>(
    words`stats rollout ${deployId} --rollout ${rollout.id} --difference 0.5`,
  );
  assert.is(found.rollout.id, rollout.id);
  const { reference } = await data<{ reference: string }>(words`deploy show ${deployId}`);
  for (const named of [rollout.id, reference]) {
    const records = await cli(words`record list --workspace ${workspaceId} --rollout ${named}`);
    assert.equal([records.code, records.said], [0, "Nothing to list\n"]);
    assert.is((await cli(words`call list --workspace ${workspaceId} --rollout ${named}`)).code, 0);
  }
});

test.run();
