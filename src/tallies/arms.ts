// Counts the records of a rollout by arm, and its sessions by the arm in which they began, in each step of the share.
import type { Database } from "../database/database.ts";
import { findLogRange } from "../ledger/blocks.ts";
import { createFeedbackBound } from "./feedback-bound.ts";
import { noFeedback } from "../feedback/feedback-scan.ts";
import { scanAll } from "../log/scan.ts";
import type { ScanOptions } from "../log/scan.ts";
import { addRecord, addTally, emptyTally } from "./tally.ts";
import type { Tally } from "./tally.ts";

/** A time, in Unix ms, from which on the candidate had a share of the callers, from 0 to 1. */
export type Step = { at: number; share: number };

/** Tallies of a step. `sessions` counts those that began in it. */
export type CountedStep = Step & {
  base: Tally;
  candidate: Tally;
  sessions: { base: number; candidate: number };
};

type Start = { position: number; step: CountedStep; arm: "base" | "candidate" };

const maxSessions = 100_000; // some 20 MB

/**
 * Counts the records that match. `candidate` is its version, and `steps` are ordered by time. Feedback is left out if it
 * `isCrowded`: if it is of too many names in all steps.
 */
export async function countArms(
  database: Database,
  { reads, ...matching }: ScanOptions,
  { candidate, steps }: { candidate: number; steps: Step[] },
  report?: (share: number) => void,
): Promise<{ steps: CountedStep[]; isCrowded: boolean }> {
  const counted = steps.map((step): CountedStep => ({
    ...step,
    base: emptyTally(),
    candidate: emptyTally(),
    sessions: { base: 0, candidate: 0 },
  }));
  const arms = counted.flatMap(({ base, candidate }) => [base.sums, candidate.sums]);
  const bound = createFeedbackBound(() => arms.map(({ feedback }) => feedback));
  let isCrowded = false;
  const sessions = new Map<string, Start>();
  let kept = 1; // one in so many sessions is counted, chosen by hash
  const isKept = (session: string) => kept === 1 || hashOf(session) % kept === 0;

  await scanAll(
    database,
    { ...matching, reads: { ...reads, sessions: true } },
    matching.range ?? await findLogRange(database, matching.filter),
    (record) => {
      const { version, session, position, createdAt } = record;
      const step = counted.findLast(({ at }) => at <= createdAt) ?? counted[0]!;
      const arm = version === candidate ? "candidate" : "base";
      if (isCrowded) record.feedback = noFeedback;
      const added = addRecord(step[arm], undefined, record);
      if (added > 0 && !bound.add(added)) {
        isCrowded = true;
        for (const sums of arms) sums.feedback = new Map();
      }
      if (!isKept(session)) return;
      const known = sessions.get(session);
      if (known === undefined || position < known.position) sessions.set(session, { position, step, arm });
      if (sessions.size <= maxSessions) return;
      kept *= 2;
      for (const session of sessions.keys()) if (!isKept(session)) sessions.delete(session);
    },
    report,
  );
  for (const { step, arm } of sessions.values()) step.sessions[arm]++;
  return { steps: counted, isCrowded };
}

/** FNV-1a with the last mixing of MurmurHash3, which makes its low bits depend on all. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ hash >>> 16, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  return (hash ^ hash >>> 16) >>> 0;
}

/** The tally of an arm over all steps. */
export function tallyOf(steps: CountedStep[], arm: "base" | "candidate"): Tally {
  const all = emptyTally();
  for (const step of steps) addTally(all, step[arm]);
  return all;
}
