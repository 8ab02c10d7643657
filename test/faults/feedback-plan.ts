// What a sender of feedback does to each of its records, in a random order that its number and the record's settle.
import type { FeedbackValue } from "../../src/schema/feedback.ts";

/** A piece of feedback. Without a value it is withdrawn. */
type Given = { name: string; author: string; value: FeedbackValue | null };

/** One request: of the record, alone or in a batch, or of feedback on it, alone or in a batch. */
export type Step = { record: "alone" | "batch" } | { one: Given } | { many: Given[] };

export type Plan = { key: string; steps: Step[] };

const never = 20; // one record of so many is never sent

/** Numbers from 0 to 1, which the seed settles. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The record is somewhere among the feedback on it. It may be sent twice. */
export function planOf(sender: number, nth: number): Plan {
  const random = createRandom(sender * 100_003 + nth);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const given = (): Given => {
    const name = pick(["thumb", "score", "tone"]), author = pick(["", "ann", "judge"]);
    const value = name === "thumb"
      ? pick([true, false])
      : name === "score"
      ? pick([0, 0.5, 1])
      : pick(["kind", "curt"]);
    return { name, author, value: random() < 0.15 ? null : value };
  };
  const steps = Array.from(
    { length: 2 + Math.floor(random() * 6) },
    (): Step =>
      random() < 0.5 ? { one: given() } : { many: Array.from({ length: 1 + Math.floor(random() * 5) }, given) },
  );
  const times = nth % never === never - 1 ? 0 : random() < 0.2 ? 2 : 1;
  for (let time = 0; time < times; time++) {
    steps.splice(Math.floor(random() * (steps.length + 1)), 0, { record: pick(["alone", "batch"]) });
  }
  return { key: `record-${sender}-${nth}`, steps };
}

/** Whether the record is sent, and what feedback on it there is in the end, as `name author value`. */
export function endOf({ steps }: Plan): { isSent: boolean; feedback: string[] } {
  const last = new Map<string, Given>();
  for (const step of steps) {
    for (const given of "one" in step ? [step.one] : "many" in step ? step.many : []) {
      last.set(`${given.name} ${given.author}`, given);
    }
  }
  const feedback = [...last].filter(([, { value }]) => value !== null).map(([piece, { value }]) =>
    `${piece} ${Number.isNaN(Number(value)) ? value : Number(value)}`
  );
  return { isSent: steps.some((step) => "record" in step), feedback: feedback.sort() };
}
