// Generates the commands of the model test.
import fc from "fast-check";
import type { Asked } from "./model.ts";

export const minute = 60_000;
export const day = 1440 * minute;
const hour = 60 * minute;

/** An index is taken modulo the number of items. */
const index = fc.nat({ max: 11 });
const lifetime = fc.constantFrom(null, 0, 1, hour, hour, 3 * day);

const request = fc.record({
  kind: fc.constantFrom("read", "read", "submit", "submit", "submit", "usage"),
  key: index,
  deployment: index,
  /** Whether the deployment is one of the key's workspace. */
  isOwn: fc.constantFrom(true, true, true, true, false),
  session: fc.constantFrom("a", "b"),
  idempotencyKey: fc.constantFrom(undefined, undefined, "1", "2"),
  /** The promptVersion of a submit: none, the one last read of the deployment, or one that does not exist. */
  version: fc.constantFrom("none", "none", "none", "read", "read", "missing"),
  /** The rollout of a submit: none, the last one of the deployment, its first one, or one that does not exist. */
  rollout: fc.constantFrom("none", "none", "none", "last", "first", "missing"),
  asked: fc.constantFrom<Asked>("live", "live", "both", { key: "ann" }, { key: "bob" }),
  isBad: fc.constantFrom(false, false, false, false, false, false, true),
});

/** How many replies of the database in a row are lost. */
const losses = fc.constantFrom(0, 0, 0, 1, 2);

export const command = fc.oneof(
  { weight: 9, arbitrary: fc.record({ requests: fc.array(request, { minLength: 1, maxLength: 7 }), losses }) },
  // Enough to race for the last units of a quota.
  { weight: 1, arbitrary: fc.record({ requests: fc.array(request, { minLength: 20, maxLength: 40 }), losses }) },
  {
    weight: 5,
    arbitrary: fc.record({
      wait: fc.constantFrom(-30 * minute, -1, 1, hour - 1, hour, day, day + 1, 2 * day, 2 * day + 1, 20 * day),
    }),
  },
  { weight: 2, arbitrary: fc.record({ turnOfMonth: fc.constantFrom(-1, 0, 1) }) },
  { weight: 2, arbitrary: fc.record({ workspace: index, room: fc.integer({ min: -1, max: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ workspace: index, lifetime }) },
  { weight: 1, arbitrary: fc.record({ revoke: index }) },
  { weight: 3, arbitrary: fc.record({ rotate: index, overlapMs: fc.constantFrom(0, 1, hour, day), lifetime }) },
  { weight: 2, arbitrary: fc.record({ publish: index, title: fc.constantFrom("A", "B", "C"), isLive: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ promote: index, version: index }) },
  { weight: 2, arbitrary: fc.record({ rollBack: index }) },
  { weight: 4, arbitrary: fc.record({ roll: index, version: index, percent: fc.constantFrom(0.1, 50, 50, 100) }) },
  { weight: 1, arbitrary: fc.record({ stopRollout: index }) },
  { weight: 2, arbitrary: fc.record({ activate: index, isActive: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ rename: index, name: fc.constantFrom("production", "staging") }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ removeSession: fc.constantFrom("a", "b"), deployment: index }) },
  { weight: 2, arbitrary: fc.record({ pruneDays: fc.constantFrom(1, 2, 10, 40) }) },
);

type Of<A> = A extends fc.Arbitrary<infer T> ? T : never;
export type Command = Of<typeof command>;
export type RequestCommand = Of<typeof request>;
