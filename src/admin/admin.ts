// What management works on. Every action of this folder takes it as its first argument, and throws a Refusal.
import type { Clock, Source } from "../common/domain.ts";
import type { Database } from "../database/database.ts";

export type Admin = {
  database: Database;
  clock: Clock;
  /** By which way management came: the history of deployments says so. */
  source: Source;
  /** Is told how far long work is: a sentence, every now and then. */
  report?: ((progress: string) => void) | undefined;
};

/** A share of the whole, for people. */
export const percent = (share: number): string => `${Math.round(100 * share)} %`;
