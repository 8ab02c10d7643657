// When a row is due for its next check, however many services look at it.

/**
 * The condition, in SQL, that a row was not checked in the last `interval` ms before :now. A check that is further ahead than that
 * comes from a clock that was wrong.
 */
export const isDueAfter = (interval: number): string =>
  `(checked_at is null or checked_at <= :now - ${interval} or checked_at > :now + ${interval})`;

/** When a row that is due was last checked, in SQL: 0 if never, or by a clock that was wrong. */
export const lastChecked = "iif(checked_at <= :now, checked_at, 0)";

/**
 * An order in which workspaces take turns, in SQL, so that one with many rows keeps no other waiting. Of each, the rows that were
 * not checked for longest come first.
 */
export const inTurns = (since: string, id: string): string =>
  `row_number() over (partition by workspace_id order by ${since}, ${id}), ${since}, ${id}`;
