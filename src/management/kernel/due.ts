// SQL for rows that are due for their next check, however many services look.

/**
 * SQL condition: the row was not checked in the last `interval` ms before :now. A check that is further ahead than that
 * comes from a wrong clock.
 */
export const isDueAfter = (interval: number): string =>
  `(checked_at is null or checked_at <= :now - ${interval} or checked_at > :now + ${interval})`;

/** SQL expression: time of the last check of a row that is due; 0 if never, or by a wrong clock. */
export const lastChecked = "iif(checked_at <= :now, checked_at, 0)";

/**
 * SQL order in which workspaces take turns, so one with many rows keeps no other waiting. The rows of each come by the
 * time since their last check, longest first.
 */
export const inTurns = (since: string, id: string): string =>
  `row_number() over (partition by workspace_id order by ${since}, ${id}), ${since}, ${id}`;
