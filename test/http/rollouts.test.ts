// A rollout as applications see it: both versions for clients that pick, one for those that send a key, and the live one for all
// others.
import * as assert from "uvu/assert";
import { bucketOf, isInRollout } from "../../src/common/rollout.ts";
import { verifyBalanced } from "../balanced.ts";
import { bearer, counting, createTenant, createWorld, goodBody, openMemory } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { publish, refused, taken } from "../management/management.ts";
import { suite } from "../suite.ts";

const test = suite("rollouts");

type Prompt = { title: string; messages: object[]; deploy: { currentVersion: number } };
type Both = { id: string; version: number; percent: number; salt: string; prompt: Prompt };
type Served = Prompt & { rollout: Both & { isCandidate: boolean } };

/** A world with a second version, which is not live. */
async function createCandidate(options: Parameters<typeof createWorld>[0] = {}): Promise<World> {
  const world = await createWorld(options);
  const content = { title: "Warmer", messages: [{ role: "system", content: "Greet {{name}} \u{1F44B}" }] };
  taken(await publish(world, { name: "greeting", ...content }), 201);
  return world;
}

const roll = async (world: World, body: object): Promise<Both> =>
  taken<{ rollout: Both }>(await world.manage("POST", `/deployments/${world.deployId}/rollout`, body)).rollout;
const change = (world: World, action: string, body: object = {}): Promise<Answer> =>
  world.manage("POST", `/deployments/${world.deployId}/${action}`, body);

const read = (world: World, query = "", headers: Record<string, string> = {}): Promise<Answer> =>
  world.send(`/v1/prompts?deployId=${world.deployId}${query}`, { headers: { ...bearer(world.key), ...headers } });
const readBoth = (world: World, headers = {}): Promise<Answer> =>
  read(world, "", { "Accept-Rollout": "1", ...headers });
const readAs = (world: World, key: string): Promise<Answer> => read(world, `&key=${encodeURIComponent(key)}`);

test("a client that picks gets both versions in one answer with one tag", async () => {
  const world = await createCandidate();
  const before = (await world.read()).text;
  const { id } = await roll(world, { version: 2, percent: 12.5 });
  const both = await readBoth(world);
  const { rollout, ...base } = taken<Served>(both);
  assert.is(
    both.text.slice(0, before.length - 1),
    before.slice(0, -1),
    "the live version comes first, as it always does",
  );
  assert.equal(base, JSON.parse(before));
  const { salt, prompt, ...rest } = rollout;
  assert.equal(rest, { id, version: 2, percent: 12.5 });
  assert.match(salt, /^[0-9a-f-]{36}$/);
  assert.equal(prompt, {
    ...{ ...base, title: "Warmer" },
    messages: [{ role: "system", content: "Greet {{name}} \u{1F44B}" }],
    deploy: { ...base.deploy, currentVersion: 2 },
  });
  assert.is(both.headers.get("Vary"), "Accept-Rollout, Origin");
  assert.is(both.headers.get("Cache-Control"), "private, no-cache");
  const tag = both.headers.get("ETag")!;
  assert.is((await readBoth(world, { "If-None-Match": tag })).status, 304);
  assert.is.not((await world.read()).headers.get("ETag"), tag);
  await verifyBalanced(world.admin);
});

test("a client that does not ask gets the live version, byte by byte, during a rollout and without one", async () => {
  const world = await createCandidate();
  const [before, asked, keyed] = [await world.read(), await readBoth(world), await readAs(world, "ann")];
  for (const answer of [asked, keyed]) assert.is(answer.text, before.text);
  assert.not(before.headers.has("Vary"));
  await roll(world, { version: 2, percent: 100 });
  const during = await world.read();
  assert.is(during.text, before.text);
  assert.is(during.headers.get("ETag"), before.headers.get("ETag"));
  assert.is(during.headers.get("Vary"), "Accept-Rollout, Origin");
  assert.is((await read(world, "", { "Accept-Rollout": "0" })).text, before.text);
});

test("with a key, the service picks as clients do, and says which version it is", async () => {
  const world = await createCandidate();
  const live = (await world.read()).text;
  const { id } = await roll(world, { version: 2, percent: 40 });
  const { rollout: { salt, prompt } } = taken<Served>(await readBoth(world));
  const tags = new Set<string>();
  const odd = ["ünal", "\u{1F44B}".repeat(200), "a&b=c d"];
  for (const key of [...odd, ...Array.from({ length: 60 }, (_, nth) => `user ${nth}`)]) {
    const isCandidate = isInRollout(await bucketOf(world.deployId, salt, key), 400);
    const answer = await readAs(world, key);
    const expected = { ...(isCandidate ? prompt : JSON.parse(live)), rollout: { id, isCandidate } };
    assert.is(answer.text, JSON.stringify(expected));
    tags.add(answer.headers.get("ETag")!);
  }
  assert.is(tags.size, 2);
  await verifyBalanced(world.admin);
});

test("a key has 1 to 200 characters, and a request that breaks that costs nothing", async () => {
  const world = await createCandidate();
  for (const query of ["&key=", "&key=a&key=b", `&key=${"a".repeat(201)}`]) {
    refused(await read(world, query), 400, "Parameter key must be 1 to 200 characters");
  }
  assert.is((await read(world, "&key=", bearer("pl_x"))).status, 401);
  assert.is((await read(world, `&key=${"\u{1F44B}".repeat(200)}`)).headers.get("X-RateLimit-Used"), "1");
});

test("clients notice each step by the revision, and by the tag", async () => {
  const world = await createCandidate();
  const seen: string[] = [];
  const look = async () => {
    const { deployments } = taken<{ deployments: Record<string, { revision: number; version: number }> }>(
      await world.send("/v1/revisions"),
    );
    const { revision, version } = deployments[world.deployId]!;
    const { rollout } = taken<Partial<Served>>(await readBoth(world));
    seen.push(`${revision}: ${version}${rollout === undefined ? "" : `, ${rollout.percent} % ${rollout.version}`}`);
  };
  await look();
  const first = await roll(world, { version: 2, percent: 1 });
  await look();
  const before = taken<Served>(await readBoth(world)).rollout.salt;
  assert.is((await roll(world, { percent: 1 })).percent, 1);
  await look();
  assert.is((await roll(world, { percent: 100 })).id, first.id);
  assert.is(taken<Served>(await readBoth(world)).rollout.salt, before, "the salt stays while the share changes");
  await look();
  taken(await change(world, "rollout/stop"));
  await look();
  assert.is.not((await roll(world, { version: 2, percent: 30 })).id, first.id);
  assert.is.not(taken<Served>(await readBoth(world)).rollout.salt, before, "a new rollout has a new salt");
  taken(await change(world, "promote", { version: 2 }));
  await look();
  assert.equal(seen, ["1: 1", "2: 1, 1 % 2", "2: 1, 1 % 2", "3: 1, 100 % 2", "4: 1", "6: 2"]);
});

test("a read takes one round trip, with a rollout too, even if no version is cached", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createCandidate({ database });
  await roll(world, { version: 2, percent: 10 });
  for (const round of ["cold", "warm"]) {
    Object.assign(counts, { reads: 0, writes: 0 });
    taken(await readBoth(world));
    assert.equal(counts, { reads: 0, writes: 1 }, round);
  }
});

test("a name that changes during a rollout changes in both versions", async () => {
  const world = await createCandidate();
  await roll(world, { version: 2, percent: 10 });
  await readBoth(world);
  taken(await change(world, "rename", { name: "live" }));
  const { deploy, rollout } = taken<Served>(await readBoth(world));
  assert.equal([deploy, rollout.prompt.deploy], [1, 2].map((version) => ({ ...deploy, currentVersion: version })));
  assert.is((deploy as unknown as { name: string }).name, "live");
});

test("a record may say which rollout chose its version, and is checked", async () => {
  const world = await createCandidate();
  const { id: other } = await roll(world, { version: 2, percent: 50 });
  taken(await change(world, "rollout/stop"));
  const { id: rollout } = await roll(world, { version: 2, percent: 50 });
  const refusal = "Field rollout must be a rollout of the deployment, with promptVersion one of its versions";
  const submit = (more: object) => world.submit({ ...goodBody, ...more });
  taken(await publish(world, { name: "greeting", title: "Third", messages: [{ role: "user", content: "x" }] }), 201);
  for (const more of [{}, { promptVersion: 3 }, { promptVersion: 9 }]) {
    const answer = await submit({ rollout, ...more });
    assert.is(answer.status, 400);
    if (!("promptVersion" in more) || more.promptVersion === 3) refused(answer, 400, refusal);
  }
  refused(await submit({ rollout: "ro_x", promptVersion: 2 }), 400, refusal);
  refused(
    await submit({ rollout: 7, promptVersion: 2 }),
    400,
    "Field rollout must be a string of at most 512 characters",
  );
  const theirs = await createTenant(world.admin);
  refused(await world.submit({ ...goodBody, rollout, promptVersion: 1 }, theirs.deployId, theirs.key), 400, refusal);
  const ids: string[] = [];
  for (const promptVersion of [1, 2]) ids.push(taken<{ id: string }>(await submit({ rollout, promptVersion }), 201).id);
  ids.push(taken<{ id: string }>(await submit({ rollout: other, promptVersion: 2 }), 201).id);
  // Records arrive after the end of their rollout too.
  taken(await change(world, "promote", { version: 2 }));
  ids.push(taken<{ id: string }>(await submit({ rollout, promptVersion: 1 }), 201).id);
  ids.push(taken<{ id: string }>(await submit({}), 201).id);
  const shown = [];
  for (const id of ids) {
    const { promptVersion, rollout } = taken(await world.manage("GET", `/diagnoses/${id}`));
    shown.push([promptVersion, rollout]);
  }
  assert.equal(shown, [[1, rollout], [2, rollout], [2, other], [1, rollout], [2, undefined]]);
  await verifyBalanced(world.admin);
});

test("a batch takes records of several rollouts, and refuses each alone", async () => {
  const world = await createCandidate();
  const { id: rollout } = await roll(world, { version: 2, percent: 50 });
  const record = { ...goodBody, deployId: world.deployId };
  const records = [{}, { rollout, promptVersion: 1 }, { rollout: "ro_x", promptVersion: 1 }, {
    rollout,
    promptVersion: 2,
  }]
    .map((more) => ({ ...record, ...more }));
  const headers = { ...bearer(world.key), "Content-Type": "application/json" };
  const answer = await world.send("/v1/diagnoses", { method: "POST", headers, body: JSON.stringify({ records }) });
  const { results } = taken<{ results: { status: number; code?: string }[] }>(answer);
  assert.equal(results.map(({ status, code }) => code ?? status), [201, 201, "rollout_not_found", 201]);
  const calls = await world.database.read({
    sql: "select rollout_id, prompt_version, count from calls order by position",
  });
  assert.equal(calls.map((call) => ({ ...call })), [
    { rollout_id: null, prompt_version: 1, count: 1 },
    { rollout_id: rollout, prompt_version: 1, count: 1 },
    { rollout_id: rollout, prompt_version: 2, count: 1 },
  ]);
});

test("a retry with another rollout is another request", async () => {
  const world = await createCandidate();
  const { id: rollout } = await roll(world, { version: 2, percent: 50 });
  const submit = (more: object) =>
    world.submit({ ...goodBody, promptVersion: 2, ...more }, undefined, undefined, { "Idempotency-Key": "a" });
  const first = taken<{ id: string }>(await submit({ rollout }), 201);
  assert.is(taken<{ id: string }>(await submit({ rollout }), 201).id, first.id);
  assert.is((await submit({})).status, 422);
});

// What may happen between an attempt whose response is lost and its retry.
const endings: [string, (world: World) => Promise<unknown>][] = [
  ["a promotion", async (world) => taken(await change(world, "promote", { version: 2 }))],
  ["a stop", async (world) => taken(await change(world, "rollout/stop"))],
  ["another rollout", async (world) => {
    taken(await change(world, "rollout/stop"));
    await roll(world, { version: 2, percent: 1 });
  }],
  ["a rollback", async (world) => {
    taken(await change(world, "promote", { version: 2 }));
    taken(await change(world, "rollback"));
  }],
];

for (const [name, end] of endings) {
  test(`a record that is sent again after ${name} is stored once, and counts for the version that was used`, async () => {
    const world = await createCandidate();
    const { id: rollout } = await roll(world, { version: 2, percent: 50 });
    const submit = (key: string, promptVersion: number) =>
      world.submit({ ...goodBody, rollout, promptVersion }, undefined, undefined, { "Idempotency-Key": key });
    const sent = { stored: 2, "stored too": 1, "never arrived": 2, "never arrived either": 1 };
    const ids = new Map<string, string>();
    for (const key of ["stored", "stored too"] as const) {
      ids.set(key, taken<{ id: string }>(await submit(key, sent[key]), 201).id);
    }
    await end(world);
    for (const again of [false, true]) {
      for (const [key, version] of Object.entries(sent)) {
        const { id } = taken<{ id: string }>(await submit(key, version), 201);
        assert.is(id, ids.get(key) ?? id, `${key}, ${again ? "again" : "first"}`);
        ids.set(key, id);
      }
    }
    const stats = taken<Record<"base" | "candidate", { records: number }>>(
      await world.manage("GET", `/deployments/${world.deployId}/rollouts/${rollout}/stats`),
    );
    assert.equal([stats.base.records, stats.candidate.records], [2, 2]);
    assert.is((await world.read()).headers.get("X-RateLimit-Used"), "5");
    await verifyBalanced(world.admin);
  });
}

test.run();
