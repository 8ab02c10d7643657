// One person alone, with every token that they have, make or take over, tries all that changes a deployment which needs approvals.
// Whatever they do, it serves what it served, or nothing.
// Runs on Node alone.
import fc from "fast-check";
import * as assert from "uvu/assert";
import type { Deployment } from "../../src/management/deployments/deployments.ts";
import { adminToken, bearer, createWorld, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { openSnapshot, takeSnapshot } from "../snapshots.ts";
import { isFull, suite } from "../suite.ts";
import { setStage } from "./approval-table.ts";
import { readAll, taken } from "./management.ts";

const test = suite("approvals and one person");

/** What somebody sends: a path with D, P, T and C for a deployment, a prompt, a token and a change request, and its body. */
type Step = { token: number; path: string; body: object; nth: number };

const names = fc.constantFrom("production", "main", "greeting", "other", "greeting@production");
const some = <T extends object>(...bodies: T[]) => fc.constantFrom(...bodies);
const content = fc.constantFrom("Evil", "Worse", promptFile.title).map((title) => ({ ...promptFile, title }));
const target = fc.oneof(
  fc.constant({}),
  fc.constant({ deploy: "D" }),
  names.map((deploy) => ({ deploy })),
);
const prompt = fc.oneof(fc.constant({}), fc.constant({ promptId: "P" }), names.map((name) => ({ name })));
const all = <T extends object, U extends object>(...[one, other]: [fc.Arbitrary<T>, fc.Arbitrary<U>]) =>
  fc.tuple(one, other).map(([one, other]) => ({ ...one, ...other }));
const released = fc.tuple(names, some({}, { was: "greeting" }), some({}, { archive: true }, { version: 2 }), content)
  .map(([name, was, what, { title, messages }]) => ({
    prompts: [{
      ...{ name, ...was, ifLatest: 2 },
      ...("version" in what ? { deploy: [{ name: "production", ...what, ifRevision: 2 }] } : what),
      ...("archive" in what ? {} : { title, messages }),
    }],
  }));

const paths: [path: string, body: fc.Arbitrary<object>][] = [
  ["/deployments/D/promote", some({ version: 2 }, { version: 3 }, { from: "main" })],
  ["/deployments/D/rollback", some({}, { version: 1 }, { version: 2 })],
  ["/deployments/D/rollout", some({ version: 2, percent: 100 }, { percent: 50 })],
  ["/deployments/D/rollout/stop", some({})],
  ...["activate", "deactivate", "archive", "unarchive", "unprotect"].map((verb): [string, fc.Arbitrary<object>] => [
    ...[`/deployments/D/${verb}`, some({})] as const,
  ]),
  ["/deployments/D/protect", some({}, { approvals: 0 }, { approvals: 1 })],
  ["/deployments/D/rename", names.map((name) => ({ name }))],
  ["/prompts/P/rename", names.map((name) => ({ name }))],
  ["/prompts/P/archive", some({})],
  ["/prompts/P/unarchive", some({})],
  ["/prompts/P/versions", content],
  ["/workspaces/W/publish", all(all(content, fc.constant({ force: true })), all(target, prompt))],
  [
    "/workspaces/W/deployments",
    all(names.map((name) => ({ name })), some({ promptId: "P", version: 2 }, { promptId: "P" })),
  ],
  ["/apply", released],
  [
    "/tokens",
    all(
      some({ role: "publisher" }, { role: "admin" }, { role: "owner" }),
      some({ name: "x" }, { name: "x", owner: "bob@acme.com" }, { name: "x", owner: "ANN@acme.com" }),
    ),
  ],
  ["/tokens/T/rotate", some({}, { overlapMs: 3_600_000 })],
  ["/changes/C/approve", some({})],
  ["/changes/C/approve", some({})],
  ["/changes/C/decline", some({ reason: "x" })],
  ["/changes/C/withdraw", some({})],
];

const steps = fc.array(
  fc.tuple(fc.constantFrom(...paths).chain(([path, body]) => body.map((body) => ({ path, body }))), fc.nat(), fc.nat())
    .map(([step, token, nth]): Step => ({ ...step, token, nth })),
  { minLength: 20, maxLength: 60, size: "max" },
);

/** What a letter may name. */
async function findNamed(world: World, letter: string): Promise<string[]> {
  const { workspaceId, promptId, deployId } = world;
  const list = async (path: string) => (await readAll<{ id: string }>(world, path)).map(({ id }) => id);
  const of = (own: string, others: string[]) => [own, own, own, ...others];
  if (letter === "D") return of(deployId, await list(`/workspaces/${workspaceId}/deployments`));
  if (letter === "P") return of(promptId, await list(`/workspaces/${workspaceId}/prompts`));
  return letter === "W" ? [workspaceId] : await list(letter === "T" ? "/tokens" : "/changes");
}

const served = async ({ send, key }: World, ref: string): Promise<string | undefined> => {
  const { status, text } = await send(`/v1/prompts?deployId=${encodeURIComponent(ref)}`, { headers: bearer(key) });
  return status === 200 ? text : undefined;
};

test("nobody changes alone what is live, and each change request waits for somebody else", async () => {
  const stage = await createWorld(), cast = await setStage(stage, "plain", adminToken);
  const { workspaceId, key, keyId, promptId, deployId } = stage;
  const snapshot = await takeSnapshot(stage.database), tenant = { workspaceId, key, keyId, promptId, deployId };
  const property = fc.asyncProperty(fc.constantFrom("ann", "ada"), steps, async (who, all) => {
    const world = await createWorld({ tenant, database: await openSnapshot(snapshot) });
    const tokens: string[] = who === "ann" ? [cast.ann, cast.annsPhone] : [cast.ada];
    const live = await served(world, deployId);
    const done: string[] = [];
    for (const [index, { path, body, token, nth }] of all.entries()) {
      const fill = async (text: string, pattern: RegExp) => {
        const letters = [...new Set(text.match(pattern))];
        const named = new Map(
          await Promise.all(letters.map(async (each) => [each, await findNamed(world, each)] as const)),
        );
        return text.replace(pattern, (letter) => named.get(letter)![nth % named.get(letter)!.length] ?? "none");
      };
      const sent = {
        ...JSON.parse(await fill(JSON.stringify(body), /(?<=")[DP](?=")/g)),
        ...path === "/apply" && { workspaceId },
      };
      const target = await fill(path, /(?<=\/)[DPTCW](?=\/)/g);
      const { status, json } = await world.manage("POST", target, sent, bearer(tokens[token % tokens.length]!));
      done.push(`${target} ${JSON.stringify(sent)} ${status}`);
      const { token: secret } = (json ?? {}) as { token?: string };
      if (secret !== undefined && status < 300) tokens.push(secret);
      world.now++;
      // What a refused step has changed is found by the next look.
      if (status >= 400 && index % 5 !== 4 && index !== all.length - 1) continue;
      for (const ref of [deployId, "greeting@production"]) {
        assert.ok([live, undefined].includes(await served(world, ref)), `${who}: ${done.join("\n")}`);
      }
      const { reference, currentVersion, rollout, approvals, archivedAt } = taken<Deployment>(
        await world.manage("GET", `/deployments/${deployId}`),
      );
      assert.equal(
        { reference, currentVersion, rollout, approvals, archivedAt },
        { reference: "greeting@production", currentVersion: 1, rollout: null, approvals: 1, archivedAt: null },
        `${who}: ${done.join("\n")}`,
      );
    }
    assert.equal(await readAll(world, "/changes?state=applied"), []);
  });
  await fc.assert(property, { numRuns: isFull ? 100 : 8 });
});

test.run();
