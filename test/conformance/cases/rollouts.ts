// Reads and submits while a rollout is in progress.
import * as assert from "uvu/assert";
import { bucketOf, isInRollout } from "../../../src/common/rollout.ts";
import { goodBody, promptFile } from "../../helpers.ts";
import { isRecorded, isRefusal } from "../answers.ts";
import { bearer, callsOf, ownCase, read, recordsOf, submit } from "../target.ts";
import type { Case, Target } from "../target.ts";

type Both = { deploy: object; rollout: { id: string; salt: string; prompt: { deploy: object } } };

/** Starts a rollout of a second version. Returns the text of the live one. */
async function start({ manage, promptId, deployId, ...own }: Target, percent: number): Promise<string> {
  const before = await read({ ...own, deployId });
  await manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: "Second" });
  await manage("POST", `/deployments/${deployId}/rollout`, { version: 2, percent });
  return before.text;
}

const readBoth = (own: Target) => read(own, "Accept-Rollout: 1");
const readAs = ({ send, key, deployId }: Target, who: string) =>
  send(`/v1/prompts?deployId=${deployId}&key=${encodeURIComponent(who)}`, { headers: [bearer(key)] });

export const rolloutCases: Case[] = [
  ownCase("a rollout changes nothing for a client that does not ask", async (own) => {
    const before = await start(own, 100);
    assert.is((await read(own)).text, before);
  }),
  ownCase("a client that asks gets both versions, under one tag and for one request", async (own) => {
    const before = await start(own, 12.5);
    const both = await readBoth(own);
    const { rollout, ...base } = JSON.parse(both.text);
    assert.is(JSON.stringify(base), before);
    assert.equal([rollout.version, rollout.percent, rollout.prompt.title], [2, 12.5, "Second"]);
    assert.equal(rollout.prompt.deploy, { ...base.deploy, currentVersion: 2 });
    assert.match(both.headers.get("vary")!, /\bAccept-Rollout\b/);
    const again = await read(own, "Accept-Rollout: 1", `If-None-Match: ${both.headers.get("etag")}`);
    assert.is(again.status, 304);
    assert.equal((await callsOf(own)).map(({ promptVersion }) => promptVersion), [1, 1, 1]);
  }),
  ownCase("revisions name the rollout and its share", async (own) => {
    await start(own, 12.5);
    const { rollout: { id } } = JSON.parse((await readBoth(own)).text) as Both;
    const rolloutOf = async () => {
      const answer = await own.send("/v1/revisions", { headers: [bearer(own.key)] });
      return JSON.parse(answer.text).deployments[own.deployId].rollout;
    };
    assert.equal(await rolloutOf(), { id, percent: 12.5 });
    await own.manage("POST", `/deployments/${own.deployId}/rollout`, { percent: 50 });
    assert.equal(await rolloutOf(), { id, percent: 50 });
    await own.manage("POST", `/deployments/${own.deployId}/rollout/stop`);
    assert.is(await rolloutOf(), null);
  }),
  ownCase("by a key, the service picks the version that a client picks", async (own) => {
    const before = JSON.parse(await start(own, 50));
    const { rollout: { id, salt, prompt } } = JSON.parse((await readBoth(own)).text) as Both;
    for (const who of ["ann", "bob", "cid", "Ünal", "\u{1F44B}".repeat(200)]) {
      const isCandidate = isInRollout(await bucketOf(own.deployId, salt, who), 500);
      const expected = { ...(isCandidate ? prompt : before), rollout: { id, isCandidate } };
      assert.is((await readAs(own, who)).text, JSON.stringify(expected));
    }
    isRefusal(await readAs(own, "a".repeat(201)), 400, "Parameter key must be 1 to 200 characters");
  }),
  ownCase("a record has the rollout that chose its version, after its end too", async (own) => {
    await start(own, 50);
    const { rollout: { id: rollout } } = JSON.parse((await readBoth(own)).text) as Both;
    isRecorded(await submit(own, { ...goodBody, promptVersion: 2, rollout }));
    await own.manage("POST", `/deployments/${own.deployId}/promote`, { version: 2 });
    isRecorded(await submit(own, { ...goodBody, promptVersion: 1, rollout }));
    const unknown = "Field rollout must be a rollout of the deployment, with promptVersion one of its versions";
    isRefusal(await submit(own, { ...goodBody, promptVersion: 1, rollout: "ro_0" }), 400, unknown);
    isRefusal(await submit(own, { ...goodBody, rollout }), 400, unknown);
    const records = await recordsOf(own);
    assert.equal(records.map(({ promptVersion, rollout }) => [promptVersion, rollout]), [[1, rollout], [2, rollout]]);
    assert.equal(Object.keys(JSON.parse((await readBoth(own)).text)).includes("rollout"), false);
  }),
];
