// Submits with a promptVersion.
import * as assert from "uvu/assert";
import { goodBody, promptFile } from "../../helpers.ts";
import { isNotFound, isRecorded, isRefusal } from "../answers.ts";
import { bearer, callsOf, newestRecord, ownCase, read, recordsOf, submit } from "../target.ts";
import type { Case, Target } from "../target.ts";

const noVersion = "Field promptVersion must be a version of the deployment's prompt";
const malformed = "Field promptVersion must be an integer from 1 to 9007199254740991";

/** A tenant whose prompt has a second version, which is live. */
async function promoted(target: Target): Promise<Target> {
  const own = { ...target, ...await target.createTenant() };
  await own.manage("POST", `/prompts/${own.promptId}/versions`, { ...promptFile, title: "Second" });
  await own.manage("POST", `/deployments/${own.deployId}/promote`, { version: 2 });
  return own;
}

export const versionCases: Case[] = [
  ownCase(
    "a record has the version that its client has read, whatever is live when it arrives",
    async (own) => {
      const { deploy: { currentVersion } } = JSON.parse((await read(own)).text);
      await own.manage("POST", `/prompts/${own.promptId}/versions`, { ...promptFile, title: "Second" });
      await own.manage("POST", `/deployments/${own.deployId}/promote`, { version: 2 });
      isRecorded(await submit(own, { ...goodBody, promptVersion: currentVersion }));
      isRecorded(await submit(own));
      isRecorded(await submit(own, { ...goodBody, promptVersion: 2 }));
      assert.equal((await recordsOf(own)).map(({ promptVersion }) => promptVersion), [2, 2, 1]);
      assert.equal((await callsOf(own)).map(({ promptVersion }) => promptVersion), [2, 2, 1, 1]);
      assert.not.match(await newestRecord(own), "submitted");
    },
  ),
  ["a version that the deployment's prompt does not have is 400, and costs nothing", async (target) => {
    const own = await promoted(target);
    await own.deploy(own.workspaceId, "other", { ...promptFile, title: "Other" });
    for (const promptVersion of [3, 9007199254740991]) {
      isRefusal(await submit(own, { ...goodBody, promptVersion }), 400, noVersion);
    }
    assert.equal([await recordsOf(own), await callsOf(own)], [[], []]);
  }],
  ["an invalid promptVersion is 400", async (target) => {
    for (const promptVersion of [0, -1, 1.5, "1", null, 2 ** 53]) {
      isRefusal(await submit(target, { ...goodBody, promptVersion }), 400, malformed);
    }
  }],
  ownCase("404 comes before an unknown version, and that comes before 429", async (own) => {
    const body = { ...goodBody, promptVersion: 7 };
    isNotFound(await submit({ ...own, deployId: "dep_0" }, body));
    isRefusal(await submit(own, body), 400, noVersion);
  }, { monthlyLimit: 0 }),
  ["the same submit with another version is not a repeat", async (target) => {
    const own = await promoted(target);
    const send = (body: object) => submit(own, body, { headers: [bearer(own.key), "Idempotency-Key: a"] });
    const first = await send({ ...goodBody, promptVersion: 1 });
    assert.is((await send({ ...goodBody, promptVersion: 1 })).text, first.text);
    const reused = "Idempotency-Key was used with another request";
    isRefusal(await send({ ...goodBody, promptVersion: 2 }), 422, reused);
    isRefusal(await send(goodBody), 422, reused);
    assert.is((await recordsOf(own)).length, 1);
  }],
];
