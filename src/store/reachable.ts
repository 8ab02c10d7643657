// Whether the database answers: asked by probes, which may come as often as they like.
import type { Clock } from "../domain.ts";
import type { Database } from "./database.ts";

const patience = 2_000; // ms that an answer may take
const validity = 1_000; // ms for which an answer holds

/** Gives a function that tells whether the database answers. Those who ask at once share one query. */
export function reachabilityOf(database: Database, clock: Clock): () => Promise<boolean> {
  let asked: { at: number; answer: Promise<boolean> } | undefined;

  async function ask(): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tooLate = new Promise<boolean>((resolve) => timer = setTimeout(resolve, patience, false));
    const answers = database.read({ sql: "select 1 from promptledger_migrations limit 1" }).then(
      () => true,
      () => false,
    );
    try {
      return await Promise.race([answers, tooLate]);
    } finally {
      clearTimeout(timer);
    }
  }

  return () => {
    const now = clock();
    if (asked === undefined || Math.abs(now - asked.at) >= validity) asked = { at: now, answer: ask() };
    return asked.answer;
  };
}
