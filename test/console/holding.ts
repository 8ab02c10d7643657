// A database whose reads can be held back, to see what a page shows meanwhile.
import type { Database } from "../../src/database/database.ts";
import { until } from "../conformance/processes.ts";

/** The same database. While it is held, its reads wait, and pass one by one. */
export function holding(database: Database) {
  const waiting: (() => void)[] = [];
  let isHeld = false, reads = 0;
  const untilOneWaits = () => until(() => waiting.length > 0);
  return {
    database: {
      ...database,
      async read(statement) {
        reads++;
        if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
        return await database.read(statement);
      },
    } satisfies Database,
    untilOneWaits,
    hold: () => void (isHeld = true),
    /** Lets one read pass, and waits for one if there is none. */
    async passOne() {
      await untilOneWaits();
      waiting.shift()!();
    },
    release() {
      isHeld = false;
      for (const pass of waiting.splice(0)) pass();
    },
    countReads: () => reads,
    countWaiting: () => waiting.length,
  };
}
