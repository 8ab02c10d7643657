// Release sets: all or none, exactly as planned, and nothing the second time.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createWorld } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { verifyBalanced } from "../balanced.ts";
import { dump, refused, taken } from "./management.ts";

const test = suite("release sets");

type Change = Record<string, unknown>;
type Applied = {
  prompts: {
    name: string;
    version: number;
    isNew: boolean;
    isNewPrompt: boolean;
    deployments: { reference: string; revision: number; currentVersion: number; changed: boolean }[];
  }[];
  changes: number;
};

const apply = (world: World, prompts: Change[], more: object = {}): Promise<Answer> =>
  world.manage("POST", "/apply", { workspaceId: world.workspaceId, prompts, ...more });

const says = (text: string) => ({ title: "Title", messages: [{ role: "user", content: text }] });

/** What applications get by a reference: the text of the first message, or the status of the refusal. */
async function live(world: World, reference: string): Promise<string | number> {
  const { status, json } = await world.read(encodeURIComponent(reference));
  return status === 200 ? (json as { messages: { content: string }[] }).messages[0]!.content : status;
}

const twoPrompts: Change[] = [
  { name: "a", ifLatest: null, ...says("a1"), deploy: [{ name: "production", ifRevision: null }] },
  { name: "b/c", ifLatest: null, ...says("b1"), note: "First", deploy: [{ name: "staging", ifRevision: null }] },
];

test("creates prompts and deployments, and says what it did", async () => {
  const world = await createWorld();
  const { prompts, changes } = taken<Applied>(await apply(world, twoPrompts));
  assert.equal(prompts.map(({ name, version, isNew, isNewPrompt }) => [name, version, isNew, isNewPrompt]), [
    ["a", 1, true, true],
    ["b/c", 1, true, true],
  ]);
  assert.equal(prompts[1]!.deployments.map(({ reference, revision, changed }) => [reference, revision, changed]), [
    ["b/c@staging", 1, true],
  ]);
  assert.is(changes, 4);
  assert.equal([await live(world, "a@production"), await live(world, "b/c@staging")], ["a1", "b1"]);
  await verifyBalanced(world.admin);
});

test("a version has the reason of its own, or else that of the set, and the audit log has the same", async () => {
  const world = await createWorld();
  taken(await apply(world, twoPrompts, { note: "Release" }));
  taken(await apply(world, [{ name: "a", ifLatest: 1, ...says("a2"), note: "Second" }], { note: "Release" }));
  const { items } = taken<{ items: { name: string; note: string }[] }>(
    await world.manage("GET", `/workspaces/${world.workspaceId}/prompt-contents?versions=all`),
  );
  // Prompts of the same moment come in any order.
  assert.equal(items.map(({ name, note }) => `${name}: ${note}`).sort(), [
    "a: Release",
    "a: Second",
    "b/c: First",
    "greeting: ",
  ]);
  const { audit } = taken<{ audit: { differences: number } }>(await world.manage("GET", "/verify"));
  assert.is(audit.differences, 0);
});

test("makes versions and promotions at once, and nothing the second time", async () => {
  const world = await createWorld();
  taken(await apply(world, twoPrompts));
  const set = [{ name: "a", ifLatest: 1, ...says("a2"), deploy: [{ name: "production", ifRevision: 1 }] }];
  const { prompts } = taken<Applied>(await apply(world, set));
  assert.equal([prompts[0]!.version, prompts[0]!.deployments[0]!.revision], [2, 2]);
  assert.is(await live(world, "a@production"), "a2");
  const before = await dump(world);
  const planned = [{ name: "a", ifLatest: 2, ...says("a2"), deploy: [{ name: "production", ifRevision: 2 }] }];
  for (const again of [planned, set]) {
    const { changes, prompts: [same] } = taken<Applied>(await apply(world, again));
    assert.equal([changes, same!.isNew, same!.deployments[0]!.changed], [0, false, false]);
  }
  assert.equal(await dump(world), before);
});

test("promotes to an earlier version, and to one that this set makes", async () => {
  const world = await createWorld();
  taken(await apply(world, twoPrompts));
  const deploy = [
    { name: "production", ifRevision: 1, version: 1 },
    { name: "staging", ifRevision: null },
    { name: "old", version: 1, ifRevision: null },
  ];
  taken(await apply(world, [{ name: "a", ifLatest: 1, ...says("a2"), deploy }]));
  const texts = await Promise.all(["production", "staging", "old"].map((name) => live(world, `a@${name}`)));
  assert.equal(texts, ["a1", "a2", "a1"]);
});

test("is refused as a whole if anything has moved since it was planned, and says what", async () => {
  const world = await createWorld();
  taken(await apply(world, twoPrompts));
  const before = await dump(world);
  const answer = await apply(world, [
    { name: "new", ifLatest: null, ...says("n1") },
    { name: "a", ifLatest: 3, ...says("a2"), deploy: [{ name: "production", ifRevision: 7 }] },
    { name: "b/c", ifLatest: null, ...says("b2"), deploy: [{ name: "staging", ifRevision: null }] },
    { name: "gone", ifLatest: 1, ...says("g2") },
  ]);
  refused(
    answer,
    412,
    "Changed since it was planned: a is at version 1, planned at 3; a@production is at revision 1, planned at 7; b/c is at " +
      "version 1, planned as new; b/c@staging is at revision 1, planned as new; gone does not exist, planned at 1. Plan again",
  );
  assert.equal(await dump(world), before);
});

test("renames, with the references of deployments, and archives", async () => {
  const world = await createWorld();
  taken(await apply(world, twoPrompts));
  const set = [
    { name: "z", was: "a", ifLatest: 1, ...says("z2"), deploy: [{ name: "production", ifRevision: 1 }] },
    { name: "b/c", ifLatest: 1, archive: true },
  ];
  const { prompts } = taken<Applied>(await apply(world, set));
  assert.is(prompts[0]!.deployments[0]!.reference, "z@production");
  const references = ["z@production", "a@production", "b/c@staging"];
  assert.equal(await Promise.all(references.map((reference) => live(world, reference))), ["z2", 404, 404]);
  await verifyBalanced(world.admin);
});

test("archives a prompt only if its deployments are as they were seen", async () => {
  const world = await createWorld();
  taken(await apply(world, twoPrompts));
  const archive = (ifDeployments: { name: string; revision: number }[]) =>
    apply(world, [{ name: "b/c", ifLatest: 1, archive: true, ifDeployments }]);
  const refusal = (found: string) => `Changed since it was planned: b/c@staging is at ${found}. Plan again`;
  refused(await archive([]), 412, refusal("revision 1, planned as new"));
  refused(await archive([{ name: "staging", revision: 2 }]), 412, refusal("revision 1, planned at 2"));
  taken(await archive([{ name: "staging", revision: 1 }]));
  taken(await archive([]));
});

const content = says("x");
const wrong: Record<string, [prompts: Change[], status: number, error: string]> = {
  "a prompt twice": [
    [{ name: "x", ifLatest: null, ...content }, { name: "x", ifLatest: null, ...content }],
    400,
    "Field prompts must not have x twice",
  ],
  "a deployment twice": [
    [{ name: "x", ifLatest: null, ...content, deploy: [1, 2].map(() => ({ name: "p", ifRevision: null })) }],
    400,
    "Field prompts must not have x@p twice",
  ],
  "a new prompt without a content": [
    [{ name: "x", ifLatest: null }],
    409,
    "Prompt x is new, so it needs a title and messages",
  ],
  "a title without messages": [
    [{ name: "x", ifLatest: null, title: "T" }],
    400,
    "A version needs both a title and messages",
  ],
  "a version that does not exist": [
    [{ name: "x", ifLatest: null, ...content, deploy: [{ name: "p", version: 2, ifRevision: null }] }],
    409,
    "Prompt x has no version 2",
  ],
  "a change of what is archived": [
    [{ name: "greeting", ifLatest: 1, ...content, archive: true }],
    409,
    "Prompt greeting cannot be archived and changed at once",
  ],
  "deployments that were seen of a prompt that stays": [
    [{ name: "greeting", ifLatest: 1, ...content, ifDeployments: [] }],
    400,
    "ifDeployments is for a prompt that is archived",
  ],
  "201 prompts": [
    Array.from({ length: 201 }, (_, nth) => ({ name: `p${nth}`, ifLatest: null, ...content })),
    400,
    "Field prompts must be at most 200 prompts",
  ],
  "an unknown member": [[{ name: "x", ifLatest: null, ...content, model: "m" }], 400, ""],
  "no base": [[{ name: "x", ...content }], 400, ""],
};

for (const [name, [prompts, status, error]] of Object.entries(wrong)) {
  test(`refuses ${name}, and changes nothing`, async () => {
    const world = await createWorld();
    const before = await dump(world);
    const answer = await apply(world, prompts);
    assert.is(answer.status, status, answer.text);
    if (error !== "") refused(answer, status, error);
    assert.equal(await dump(world), before);
  });
}

test("keeps every digit of a configuration, and the commit that it comes from with versions and promotions", async () => {
  const world = await createWorld();
  const origin = { commit: "0123abcd", author: "Ada", change: "https://git.test/pull/7" };
  const text = JSON.stringify({
    workspaceId: world.workspaceId,
    prompts: [{ name: "x", ifLatest: null, ...content, deploy: [{ name: "p", ifRevision: null }] }],
    origin,
    note: "Release 7",
  }).replace('"messages"', '"llmConfig":{"seed":12345678901234567890,"t":1.0},"messages"');
  taken(await world.manage("POST", "/apply", text));
  const version = await world.manage("GET", `/prompts/x/versions/1?workspaceId=${world.workspaceId}`);
  assert.match(version.text, '"llmConfig":{"seed":12345678901234567890,"t":1.0}');
  const versions = taken<{ items: { origin: object }[] }>(
    await world.manage("GET", `/prompts/x/versions?workspaceId=${world.workspaceId}`),
  );
  const history = taken<{ items: { origin: object; note: string }[] }>(
    await world.manage("GET", `/deployments/${encodeURIComponent("x@p")}/history?workspaceId=${world.workspaceId}`),
  );
  assert.equal([versions.items[0]!.origin, history.items[0]!.origin], [origin, origin]);
  assert.is(history.items[0]!.note, "Release 7");
  await verifyBalanced(world.admin);
});

test("a reader finds all of a set or none of it, whatever the sets", async () => {
  const names = ["a", "b", "c"];
  const step = fc.subarray(names, { minLength: 1 });
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
    const world = await createWorld({ monthlyLimit: 100_000 });
    const latest = new Map<string, number>();
    for (const [nth, changed] of steps.entries()) {
      const set = changed.map((name) => {
        const version = latest.get(name) ?? null;
        return { name, ifLatest: version, ...says(`${nth}`), deploy: [{ name: "p", ifRevision: version }] };
      });
      let isApplied = false;
      const applying = apply(world, set).then((answer) => {
        taken(answer);
        isApplied = true;
      });
      while (!isApplied) {
        const seen = new Set<string | number>();
        // One request asks for all, so that its answer is of one moment.
        const { json } = await world.send("/v1/revisions");
        const found = Object.values(
          (json as { deployments: Record<string, { reference: string; version: number }> }).deployments,
        );
        for (const { reference, version } of found) {
          const name = reference.split("@")[0]!;
          if (changed.includes(name)) seen.add(version - (latest.get(name) ?? 0));
        }
        if (found.filter(({ reference }) => changed.includes(reference.split("@")[0]!)).length < changed.length) {
          seen.add(0);
        }
        assert.ok(seen.size === 1, `${[...seen]}`);
        await new Promise((resolve) => setTimeout(resolve));
      }
      await applying;
      for (const name of changed) latest.set(name, (latest.get(name) ?? 0) + 1);
    }
    await verifyBalanced(world.admin);
  });
  await fc.assert(property, { numRuns: 20 });
});

test("the contents of prompts come in pages: the newest versions, the live ones, or all", async () => {
  const world = await createWorld();
  taken(await apply(world, twoPrompts));
  taken(await apply(world, [{ name: "a", ifLatest: 1, ...says("a2"), note: "Second" }]));
  const list = async (versions: string, limit = 50) => {
    const found: string[] = [];
    for (let cursor = "";;) {
      const query = `versions=${versions}&limit=${limit}${cursor && `&cursor=${cursor}`}`;
      const page = taken<{ items: { name: string; version: number; source: string }[]; nextCursor: string | null }>(
        await world.manage("GET", `/workspaces/${world.workspaceId}/prompt-contents?${query}`),
      );
      found.push(...page.items.map(({ name, version, source }) => `${name} ${version} ${source}`));
      if (page.nextCursor === null) return found.sort();
      cursor = page.nextCursor;
    }
  };
  for (const limit of [1, 2, 50]) {
    assert.equal(await list("newest", limit), ["a 2 api", "b/c 1 api", "greeting 1 command line"]);
    assert.equal(await list("live", limit), ["a 1 api", "b/c 1 api", "greeting 1 command line"]);
    assert.equal(await list("all", limit), ["a 1 api", "a 2 api", "b/c 1 api", "greeting 1 command line"]);
  }
});

test.run();
