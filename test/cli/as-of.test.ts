// What was live, or the newest, at a time, on the command line.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { LiveVersion } from "../../src/management/deployments/history.ts";
import { promptFile } from "../helpers.ts";
import { openPlaces, words } from "./places.ts";
import type { Data, Place } from "./places.ts";

const test = suite("as of on the command line");

const { everywhere } = await openPlaces(test);

const iso = (time: number) => new Date(time).toISOString();

/** A deployment that served version 1, and serves version 2 from a time on, which is later than `pushedAt`. */
async function promoteSecond({ data, setUp }: Place) {
  const { workspaceId, promptId, deployId } = await setUp();
  const second = JSON.stringify({ ...promptFile, title: "Second" });
  await data(words`prompt push - --workspace ${workspaceId} --prompt ${promptId}`, second);
  await data(words`deploy promote ${deployId} --version 2 --actor Ada --note Shorter`);
  const [{ createdAt: promotedAt }] = await data<[{ createdAt: number }]>(words`deploy history ${deployId}`);
  const [{ createdAt: pushedAt }] = await data<[{ createdAt: number }]>(words`prompt versions ${promptId}`);
  return { workspaceId, promptId, deployId, promotedAt, pushedAt };
}

everywhere("deploy at says which version was live, and who had made it so", async (place) => {
  const { workspaceId, deployId, promotedAt } = await promoteSecond(place);
  const ask = (time: string) => place.data<LiveVersion>(words`deploy at ${deployId} --time ${time}`);
  const then = await ask(iso(promotedAt)), before = await ask(iso(promotedAt - 1));
  assert.equal([then.version, before.version, then.isActive, then.at], [2, 1, true, promotedAt]);
  assert.match(then.change!.actor, "Ada");
  const scope = words`--workspace ${workspaceId}`;
  const { out } = await place.cli([...words`deploy at greeting@production --time ${iso(promotedAt)}`, ...scope]);
  const lines = [`at +${iso(promotedAt)}`, `since +${iso(promotedAt)}`, "version +2", "active +yes", "note +Shorter"];
  for (const line of lines) assert.match(out, new RegExp(`^${line}$`, "m"));
});

everywhere("deploy at says so where there was no deployment yet, and prints null as JSON", async (place) => {
  const { deployId } = await promoteSecond(place);
  const { code, out, said } = await place.cli(words`deploy at ${deployId} --time 2020-01-31`);
  assert.equal([code, out, said], [0, "", "greeting@production did not exist yet at that time\n"]);
  const { version, change } = await place.data(words`deploy at ${deployId} --time 2020-01-31`);
  assert.equal([version, change], [null, null]);
});

everywhere("prompt show --time shows what a deployment served, or what the newest version was", async (place) => {
  const { promptId, deployId, promotedAt, pushedAt } = await promoteSecond(place);
  const titleAt = async (ref: string, time: number) =>
    (await place.data<{ title: string }>(words`prompt show ${ref} --time ${iso(time)}`)).title;
  assert.equal(
    [await titleAt(deployId, promotedAt), await titleAt(deployId, promotedAt - 1)],
    ["Second", "Greeting"],
  );
  assert.equal([await titleAt(promptId, pushedAt), await titleAt(promptId, pushedAt - 1)], ["Second", "Greeting"]);
  for (const ref of [promptId, deployId]) {
    const { code, said } = await place.cli(words`prompt show ${ref} --time 2020-01-31`);
    assert.equal([code, said], [1, `promptledger: ${ref} did not exist yet at that time\n`]);
  }
  const both = await place.cli(words`prompt show ${promptId} --version 1 --time 2020-01-31`);
  assert.equal([both.code, both.said.split("\n")[0]], [2, "promptledger: --version and --time exclude each other"]);
});

everywhere("a time is one in UTC or with a zone, a day, or a duration before now", async (place) => {
  const { deployId } = await promoteSecond(place);
  for (const time of ["0s", "2999-01-31", "2999-01-31T18:00", "2999-01-31T18:00Z", "2999-01-31T18:00:00+01:00"]) {
    assert.is((await place.data<Data>(words`deploy at ${deployId} --time ${time}`)).version, 2, time);
  }
  assert.is((await place.data(words`deploy at ${deployId} --time 9d`)).version, null);
  const { code, said } = await place.cli(words`deploy at ${deployId} --time 2026-11-23T25:03`);
  assert.is(code, 2);
  assert.is(
    said.split("\n")[0],
    "promptledger: --time must be a time such as 2027-01-31T18:00 (in UTC unless it has a zone) or 2027-01-31 (its start), " +
      "or 24h for a day ago",
  );
});

test.run();
