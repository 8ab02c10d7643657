// Rollouts at the console: they are started, changed, completed and stopped there, and seen wherever the deployment is.
// Runs on Node alone.
import * as assert from "uvu/assert";
import { listRollouts } from "../../src/management/deployments/rollout-operations.ts";
import { getDeployment, listDeployments } from "../../src/management/deployments/deployments.ts";
import { protectDeployment } from "../../src/management/deployments/deployment-changes.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call, promoteDeployment, pushPrompt } from "../actions.ts";
import { goodBody, promptFile, toPrompt } from "../helpers.ts";
import { taken } from "../management/management.ts";
import { suite } from "../suite.ts";
import { createVisit, refusalIn, tableIn, valuesIn, visit, weightOf } from "./visitor.ts";

const test = suite("rollouts at the console");

async function createCandidate() {
  const { world, visitor } = await createVisit({ monthlyLimit: 1e6 });
  for (const content of ["Greet {{name}} <warmly>", "Greet {{who}}"]) {
    await pushPrompt(world.admin, world.promptId, toPrompt({ ...promptFile, messages: [{ role: "system", content }] }));
  }
  const path = `/deployments/${world.deployId}`;
  const state = () => call(getDeployment, world.admin, { id: world.deployId });
  return { world, visitor, path, state };
}

const share = (percent: string, more: Record<string, string> = {}) => ({ do: "start", version: "2", percent, ...more });

test("a rollout is started, raised and stopped from the deployment, and stands wherever the deployment is", async () => {
  const { world, visitor, path, state } = await createCandidate();
  assert.match(await visitor.see(path), /rollout\?version=3">Roll out to some<\/a>/);
  const asking = await visitor.see(`${path}/rollout?version=2`);
  assert.match(asking, "&lt;warmly&gt;");
  assert.match(asking, '<input type="hidden" name="version" value="2">');
  const started = await visitor.send(
    `${path}/rollout`,
    share("10", { note: "Try <it>", guard: "failures=+2%", revision: "1" }),
  );
  assert.is(started.status, 303);
  assert.match(started.headers.get("Location")!, /\/rollout\?done=start$/);
  const { version, percent, guard, certain } = (await state()).rollout!;
  assert.equal([version, percent, guard, certain], [2, 10, "failures=+2%", 99]);
  for (const page of ["", "/deployments", path, `/prompts/${world.promptId}`, "/search?q=production"]) {
    assert.match(await visitor.see(page), /v2 to 10 %/, page);
  }
  const page = await visitor.see(`${path}/rollout`);
  assert.match(page, "No record of this rollout yet");
  assert.match(page, "Try &lt;it&gt;");
  assert.match(page, "If empty, the guard is removed.");
  const changed = share("50.5", { do: "change", note: "More", guard: "p95=+20%", certain: "95" });
  assert.is((await visitor.send(`${path}/rollout`, changed)).status, 303);
  const { rollout: guarded } = await state();
  assert.equal([guarded!.percent, guarded!.guard, guarded!.certain], [50.5, "p95=+20%", 95]);
  assert.match(await visitor.see(path), "rollout changed v2 to 50.5 %, guarded by p95=+20% at 95 %");
  assert.is(
    (await visitor.send(`${path}/rollout`, share("50.5", { do: "change", guard: "", certain: "95" }))).status,
    303,
  );
  assert.is((await state()).rollout!.guard, null);
  assert.is((await visitor.send(`${path}/rollout`, { do: "stop", note: "Enough" })).status, 303);
  assert.is((await state()).rollout, null);
  const ended = await visitor.see(`${path}?done=stopped`);
  assert.match(ended, "The rollout is stopped. All callers get version 1.");
  assert.match(ended, /rollout stopped.*rollout changed v2 to 50.5 %.*rollout started v2 to 10 %/s);
  const { items: [rollout] } = await call(listRollouts, world.admin, { id: world.deployId });
  assert.match(ended, `rollout?rollout=${rollout!.id}">v2 to 50.5 %, v1 to the others</a>`);
  assert.match(await visitor.see(`${path}/rollout?rollout=${rollout!.id}`), /Last share.*Start another rollout/s);
  await world.close();
});

test("the numbers of both versions are those of the service, with both ranges and what they say", async () => {
  const { world, visitor, path, state } = await createCandidate();
  await visitor.send(`${path}/rollout`, share("50"));
  const { id } = (await state()).rollout!;
  const bodies = [1, 2].flatMap((promptVersion) =>
    Array.from({ length: 60 }, (_, nth) => ({
      ...{ ...goodBody, rollout: id, promptVersion, status: nth < (promptVersion === 1 ? 3 : 30) ? 0 : 1 },
      ...{ sessionId: `${promptVersion} ${nth}`, latency: 800 + nth },
    }))
  );
  const records = await Promise.all(bodies.map((body) => world.submit(body)));
  const [record] = records.map((answer) => taken<{ id: string }>(answer, 201));
  assert.match(await visitor.see(`/records/${record!.id}`), `/rollout?rollout=${id}">Both versions</a>`);
  const page = await visitor.see(`${path}/rollout?difference=5`);
  const stats = taken<{ differences: { measure: string; difference: number; sentence: string; needed: number }[] }>(
    await world.manage("GET", `${path}/rollouts/${id}/stats?difference=5`),
  );
  const rows = tableIn(page, "Both versions");
  assert.is(rows.length, stats.differences.length);
  const [failures] = stats.differences, [row] = rows;
  assert.equal([failures!.measure, row!.slice(0, 3)], ["failures", [["0.05"], ["0.5"], [`${failures!.difference}`]]]);
  assert.match(page, `${failures!.sentence}.`);
  assert.match(page, "60 of 120 sessions began with the candidate; about 60 are expected at its share.");
  assert.equal(tableIn(page, "Shares over time"), [[[], ["60"], ["60"]]]);
  for (const version of [1, 2]) {
    assert.match(page, `records?rollout=${id}&amp;version=${version}"><data value="60">60</data> records</a>`);
    const records = await visitor.see(`/records?rollout=${id}&version=${version}`);
    assert.is(tableIn(records, "Records").length, 20);
    assert.match(records, `Rollout: <b>`);
  }
  assert.match(await visitor.see("/records?rollout=greeting@production&version=3"), "No record matches");
  const exported = await visitor.open(`${world.workspaceId}/records/export?rollout=${id}&version=2&format=ndjson`);
  assert.is(exported.text.trimEnd().split("\n").length, 60);
  const statistics = await visitor.see(`${path}/stats`);
  assert.match(statistics, /Base v1.*Candidate v2.*60 of v1, 60 of v2/s);
  assert.match(await visitor.see(`${path}/stats?view=table`), "Candidate v2 (records)");
  assert.not.match(page, /better|worse|winner/);
  assert.ok(valuesIn(page).length > 10 && weightOf(page) < 60_000, `${weightOf(page)} bytes`);
  const completed = await visitor.send(`${path}/rollout`, { do: "complete", version: "2", note: "Good", percent: "" });
  assert.equal([completed.status, (await state()).currentVersion, (await state()).rollout], [303, 2, null]);
  assert.match(await visitor.see(path), "completed: the candidate was promoted");
  await world.close();
});

test("what is not valid is refused in a sentence, and stays in the form", async () => {
  const { world, visitor, path, state } = await createCandidate();
  const limits = "Guard must be up to 10 limits, as in failures=+2%,p95=+20%,thumb=-5%";
  for (
    const [form, reason] of [
      [share("0"), "Percent must be a number from 0.1 to 100 in steps of 0.1."],
      [share("10 %"), "Percent must be a number."],
      [share("10", { version: "1" }), "Version 1 is live in greeting@production. A rollout needs another version."],
      [share("10", { guard: "<x>" }), `${limits}. Each limit has = and a sign.`],
      [share("10", { guard: "failures" }), `${limits}.`],
      [share("10", { certain: "95" }), "Certain must be given with a guard: there is none."],
      [share("10", { do: "begin" }), "Field do must be one of start, change, complete, stop."],
    ] as const
  ) {
    const { text } = await visitor.send(`${path}/rollout?version=2`, { ...form, note: "Keep <this>" });
    assert.is(refusalIn(text), reason);
    assert.match(text, "Keep &lt;this&gt;");
  }
  assert.is((await state()).rollout, null);
  assert.is((await visitor.open(`${world.workspaceId}${path}/rollout?rollout=ro_x`)).status, 404);
  await call(protectDeployment, world.admin, { id: world.deployId });
  const { token } = await call(createToken, world.admin, {
    name: "ed",
    role: "editor",
    workspaceId: world.workspaceId,
  });
  const editor = await visit(world, token);
  const lack = "This needs the role publisher because the deployment is protected. You are signed in as editor.";
  assert.match(await editor.see(`${path}/rollout?version=2`), lack);
  assert.is((await editor.send(`${path}/rollout`, share("10"))).status, 403);
  await visitor.send(`${path}/rollout`, share("10"));
  const page = await editor.see(`${path}/rollout`);
  assert.match(page, lack);
  assert.not.match(page, 'value="stop"');
  for (const action of ["complete", "stop", "change"]) {
    assert.is((await editor.send(`${path}/rollout`, share("20", { do: action }))).status, 403);
  }
  await world.close();
});

test("a promotion in the middle is said before it is made, and a form from before it is refused", async () => {
  const { world, visitor, path, state } = await createCandidate();
  await visitor.send(`${path}/rollout`, share("10"));
  const { revision } = await state();
  const saying = (version: number) => visitor.see(`${path}/promote?version=${version}`);
  assert.match(await saying(2), "A rollout is in progress: v2 to 10 %. This completes it.");
  assert.match(await saying(3), "A rollout is in progress: v2 to 10 %. This ends it.");
  assert.match(await visitor.see(`${path}/deactivate`), "This ends it.");
  assert.not.match(await visitor.see(`${path}/protect`), "A rollout is in progress");
  await promoteDeployment(world.admin, world.deployId, { version: 3 });
  const late = await visitor.send(`${path}/rollout`, share("20", { do: "change", revision: String(revision) }));
  assert.is(late.status, 412);
  assert.match(await visitor.see(path), "ended: another version was promoted");
  assert.is((await call(listDeployments, world.admin, { workspaceId: world.workspaceId })).items[0]!.rollout, null);
  await world.close();
});

test.run();
