// Sizes of a full workspace, its longest texts, and rows in bulk.
import { bounds } from "../../src/support/bounds.ts";
import type { Statement } from "../../src/database/database.ts";

/** Numbers of rows where bounds are high, or there is none: a small test has fewer. Everything else is at its bound. */
export type Size = {
  /** Prompts, versions of a prompt, and deployments of the workspace. */
  prompts: number;
  /** Entries of the history of a thing: of a deployment, of an alert, and of the rollouts and deliveries that were. */
  past: number;
  records: number;
  /** Records with much feedback: their names and authors, earlier pieces of each, and bytes of a comment. */
  judged: { records: number; names: number; authors: number; changes: number; commentBytes: number };
  /** Bytes of a large document, and of the messages and the settings of a large version. */
  contentBytes: number;
};

export const small: Size = {
  ...{ prompts: 200, past: 110, records: 600, contentBytes: 100_000 },
  judged: { records: 6, names: 10, authors: 10, changes: 4, commentBytes: 1_600 },
};
export const whole: Size = {
  ...{ prompts: bounds.prompts, past: 1_000, records: 20_000, contentBytes: 1_000_000 },
  judged: { records: 6, names: 50, authors: 2, changes: 10, commentBytes: 1_600 },
};

// Each character takes four bytes in UTF-8, and a control character six in JSON.
export const wide = "𐍈", control = "\u0001";
export const name = wide.repeat(200), note = wide.repeat(2_000), label = wide.repeat(200);

/** The nth name of feedback. */
export const nthName = (nth: number): string => "n".repeat(59) + String(nth).padStart(4, "0");
export const nameOfN = `printf('${"n".repeat(59)}%04d', n)`;

/** The nth label that a name takes. */
export const nthLabel = (nth: number): string => wide.repeat(10) + nth;

/** An id whose rows are in the order of `n`. */
export const idIn = (prefix: string, n = "n"): string => `'${prefix}_' || printf('%026d', ${n})`;
export const nthId = (prefix: string, nth: number): string => `${prefix}_${String(nth).padStart(26, "0")}`;

export type Args = Record<string, string | number | null>;

/** The statement that inserts as many rows, whose columns are expressions of `n`, from 0 on. */
export function rowsOf(table: string, count: number, columns: Record<string, string>, args: Args = {}): Statement {
  return {
    sql: `insert into ${table} (${Object.keys(columns).join(", ")})
      with recursive i(n) as (select 0 union all select n + 1 from i where n + 1 < :count)
      select ${Object.values(columns).join(", ")} from i`,
    args: { ...args, count },
  };
}
