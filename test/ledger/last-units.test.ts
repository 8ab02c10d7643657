// The last units of a quota: whatever groups race for them, exactly what is left is accepted.
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  createApiKey,
  createDeployment,
  listCalls,
  listDiagnoses,
  setDeploymentActive,
  updateWorkspace,
  verify,
} from "../actions.ts";
import { Refusal } from "../../src/common/errors.ts";
import { stringify } from "../../src/common/json-text.ts";
import type { Decision } from "../../src/ledger/admission.ts";
import { createTenant, createWorld, openMemory } from "../helpers.ts";
import type { Tenant, World } from "../helpers.ts";
import { ledgerOf, losingReplies, readBy, submitBy, upTo } from "./requests.ts";
import type { Loss } from "./requests.ts";

const test = suite("last units of a quota");

/** A world whose database loses replies as `loss` says, and management that loses none. */
async function createLossyWorld(monthlyLimit: number) {
  const memory = await openMemory();
  const loss: Loss = { times: 0 };
  const world = await createWorld({ database: losingReplies(memory, loss), monthlyLimit });
  return { world, loss, admin: { ...world.admin, database: memory } };
}

/** A workspace with two keys and two deployments, and what the model knows of it. */
type Member = {
  callers: [Tenant, Tenant, Tenant, Tenant];
  limit: number;
  used: number;
  recordIds: Set<string>;
  idByKey: Map<string, string>;
};

async function createMember({ admin }: World, limit: number): Promise<Member> {
  const tenant = await createTenant(admin, limit);
  const { workspaceId, promptId } = tenant;
  const { key } = await createApiKey(admin, workspaceId, { name: "second", expiresAt: null });
  const { id: deployId } = await createDeployment(admin, workspaceId, { name: "second", promptId });
  const callers: Member["callers"] = [tenant, { ...tenant, key }, { ...tenant, deployId }, {
    ...tenant,
    key,
    deployId,
  }];
  return { callers, limit, used: 0, recordIds: new Set(), idByKey: new Map() };
}

type Step = { member: number; caller: number; isRead: boolean; idempotencyKey: string | undefined };
type Round = { steps: Step[]; losses: number; limits: number[] };

const step: fc.Arbitrary<Step> = fc.record({
  member: fc.nat({ max: 1 }),
  caller: fc.nat({ max: 3 }),
  isRead: fc.boolean(),
  idempotencyKey: fc.option(fc.constantFrom("a", "b", "c", "d"), { nil: undefined, freq: 3 }),
});
const round: fc.Arbitrary<Round> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 40 }),
  losses: fc.constantFrom(0, 0, 1, 2),
  limits: fc.array(fc.nat({ max: 30 }), { minLength: 2, maxLength: 2 }),
});

/** Checks what a workspace's requests of one round were answered, and counts them. */
function follow(member: Member, answers: { step: Step; decision: Decision }[]): void {
  const { limit, idByKey, recordIds } = member;
  const room = Math.max(0, limit - member.used);
  const numbers: number[] = [];
  const before = new Set(idByKey.keys());
  const demand = new Set<unknown>();
  for (const { step, decision } of answers) {
    const key = step.isRead ? undefined : step.idempotencyKey;
    if (key === undefined) demand.add(step);
    else if (!before.has(key)) demand.add(key);
    if (decision.outcome === "read") numbers.push(decision.quota.used);
    else if (decision.outcome === "recorded" && !recordIds.has(decision.recordId)) {
      recordIds.add(decision.recordId);
      numbers.push(decision.quota.used);
      if (key !== undefined) {
        assert.not(idByKey.has(key), "a key has one record");
        idByKey.set(key, decision.recordId);
      }
    } else if (decision.outcome === "recorded") assert.is(decision.recordId, idByKey.get(key!));
  }
  const accepted = Math.min(room, demand.size);
  assert.equal(numbers.sort((a, b) => a - b), upTo(accepted).map((nth) => member.used + nth));
  member.used += accepted;
  for (const { step, decision } of answers) {
    const key = step.isRead ? undefined : step.idempotencyKey;
    if (decision.outcome === "quota_exhausted") {
      assert.equal([decision.quota.used, decision.quota.limit], [member.used, limit]);
      assert.not(key !== undefined && idByKey.has(key), "what has a record is not refused");
    } else if (decision.outcome === "key_reused") assert.ok(idByKey.has(key!));
    else assert.is(decision.outcome, step.isRead ? "read" : "recorded");
  }
}

test("whatever groups race for them, and however many replies are lost, exactly what is left is accepted", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 5 }), async (rounds) => {
      const { world, loss, admin } = await createLossyWorld(0);
      const members = [await createMember({ ...world, admin }, 0), await createMember({ ...world, admin }, 0)];
      const ledger = ledgerOf(world);
      for (const { steps, losses, limits } of rounds) {
        for (const [index, member] of members.entries()) {
          member.limit = limits[index]!;
          await updateWorkspace(admin, member.callers[0]!.workspaceId, { monthlyLimit: member.limit });
        }
        world.now += 1;
        const admissions = await Promise.all(steps.map(({ member, caller, isRead, idempotencyKey }) => {
          const by = members[member]!.callers[caller as 0 | 1 | 2 | 3];
          return isRead ? readBy(by) : submitBy(by, idempotencyKey);
        }));
        loss.times = losses;
        const decisions = await Promise.all(admissions.map((admission) => ledger.admit(admission)));
        loss.times = 0;
        for (const [index, member] of members.entries()) {
          const answers = steps.map((step, at) => ({ step, decision: decisions[at]! }));
          follow(member, answers.filter(({ step }) => step.member === index));
        }
      }
      const { balanced, ledgers } = await verify(admin);
      assert.ok(balanced);
      for (const { callers, used, recordIds } of members) {
        const [{ workspaceId, deployId: first }, , { deployId: second }] = callers;
        assert.is(ledgers.find((one) => one.workspaceId === workspaceId)?.used ?? 0, used);
        const calls = (await listCalls(admin, { workspaceId }, { limit: 1000 })).items;
        assert.equal(calls.map(({ number }) => number), upTo(used).reverse());
        const records = await Promise.all(
          [first, second].map((deployId) => listDiagnoses(admin, { deployId }, { limit: 1000 })),
        );
        const stored = records.flatMap(({ items }) => items.map(({ id }) => id));
        assert.equal(stored.sort(), [...recordIds].sort());
      }
    }),
    { numRuns: 30 },
  );
});

test("of a run that is cut the first are stored, each under the id that it was answered", async () => {
  const world = await createWorld({ monthlyLimit: 3 });
  const ledger = ledgerOf(world);
  const submits = await Promise.all(upTo(5).map((nth) => submitBy(world, undefined, `s${nth}`)));
  const read = await readBy(world);
  const decisions = await Promise.all([...submits, read].map((admission) => ledger.admit(admission)));
  const exhausted = "quota_exhausted";
  assert.equal(decisions.map(({ outcome }) => outcome), [
    ...Array(3).fill("recorded"),
    exhausted,
    exhausted,
    exhausted,
  ]);
  const answered = decisions.map((decision, index) =>
    decision.outcome === "recorded" && `${decision.recordId} s${index + 1}`
  );
  const { items } = await listDiagnoses(world.admin, { deployId: world.deployId });
  const stored = items.map(({ id, sessionId }) => `${id} ${JSON.parse(stringify(sessionId))}`);
  assert.equal(stored.reverse(), answered.slice(0, 3));
  const [commit] = await world.database.read({ sql: "select next_position - position as length from commits" });
  assert.is(commit!.length, 3);
  await updateWorkspace(world.admin, world.workspaceId, { monthlyLimit: 4 });
  assert.is((await ledger.admit(read)).outcome, "read");
  assert.ok((await verify(world.admin)).balanced);
});

test("a run that was cut is answered as it was decided, though the limit is raised while the reply is lost", async () => {
  const { world, loss, admin } = await createLossyWorld(2);
  const ledger = ledgerOf(world);
  const read = await readBy(world);
  loss.times = 1;
  loss.meanwhile = () => updateWorkspace(admin, world.workspaceId, { monthlyLimit: 9 });
  const decisions = await Promise.all(upTo(3).map(() => ledger.admit({ ...read })));
  assert.equal(decisions.map(({ outcome }) => outcome), ["read", "read", "quota_exhausted"]);
  const [, , refused] = decisions;
  assert.equal(refused?.outcome === "quota_exhausted" && [refused.quota.limit, refused.quota.used], [2, 2]);
  assert.is((await ledger.admit(read)).outcome, "read");
});

test("a request that could be accepted only after its group's reply was lost fails as one to send again", async () => {
  const { world, loss, admin } = await createLossyWorld(9);
  const { workspaceId, promptId, deployId } = world;
  const { id: inactive } = await createDeployment(admin, workspaceId, { name: "inactive", promptId });
  await setDeploymentActive(admin, inactive, false);
  const ledger = ledgerOf(world);
  const [good, bad] = [await submitBy(world), await submitBy({ ...world, deployId: inactive })];
  loss.times = 1;
  loss.meanwhile = () => setDeploymentActive(admin, inactive, true);
  const [accepted, refused] = await Promise.allSettled([ledger.admit(good), ledger.admit(bad)]);
  assert.is(accepted.status === "fulfilled" && accepted.value.outcome, "recorded");
  const reason = refused.status === "rejected" && refused.reason;
  assert.is(reason instanceof Refusal && reason.kind, "overloaded");
  assert.is((await listDiagnoses(admin, { deployId: inactive })).items.length, 0);
  assert.is((await listDiagnoses(admin, { deployId })).items.length, 1);
  assert.is((await ledger.admit(bad)).outcome, "recorded");
  assert.ok((await verify(admin)).balanced);
});

test.run();
