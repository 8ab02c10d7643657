// Deployments by reference, NAME@DEPLOYMENT.
import * as assert from "uvu/assert";
import { promptFile } from "../../helpers.ts";
import { isNotFound, isRecorded } from "../answers.ts";
import { callsOf, ownCase, read, recordsOf, submit } from "../target.ts";
import type { Case } from "../target.ts";

const reference = encodeURIComponent("greeting@production");

export const referenceCases: Case[] = [
  ownCase("a reference can replace a deployment's id, and the answer has the id", async (own) => {
    const byName = { ...own, deployId: reference };
    const answer = await read(byName);
    assert.equal(answer.text, (await read(own)).text);
    assert.is(JSON.parse(answer.text).deploy.id, own.deployId);
    isRecorded(await submit(byName));
    assert.is((await recordsOf(own)).length, 1);
    assert.equal((await callsOf(own)).map(({ deployId }) => deployId), [own.deployId, own.deployId, own.deployId]);
  }),
  ["a reference means a deployment of the key's workspace, even if another has the same", async (target) => {
    const one = { ...target, ...await target.createTenant({ name: "One" }) };
    const other = { ...target, ...await target.createTenant({ name: "Other" }) };
    const answers = await Promise.all([one, other, one, other].map((own) => read({ ...own, deployId: reference })));
    assert.equal(
      answers.map(({ text }) => [JSON.parse(text).deploy.id, JSON.parse(text).workspace.name]),
      [one, other, one, other].map((own) => [own.deployId, own === one ? "One" : "Other"]),
    );
  }],
  ownCase("a reference to no deployment, or to an inactive one, is 404", async (own) => {
    for (
      const other of [
        "greeting@staging",
        "other@production",
        "greeting",
        "production",
        "Greeting@production",
        "greeting@production\0x",
      ]
    ) {
      isNotFound(await read({ ...own, deployId: encodeURIComponent(other) }));
    }
    await own.manage("POST", `/deployments/${own.deployId}/deactivate`);
    isNotFound(await read({ ...own, deployId: reference }));
  }),
  ownCase("a reference serves another version on the very next request after a promotion", async (own) => {
    await read({ ...own, deployId: reference });
    await own.manage("POST", `/prompts/${own.promptId}/versions`, { ...promptFile, description: "Second" });
    await own.manage("POST", `/deployments/${own.deployId}/promote`, { version: 2 });
    assert.is(JSON.parse((await read({ ...own, deployId: reference })).text).description, "Second");
  }),
];
