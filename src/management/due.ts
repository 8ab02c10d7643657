// When a row is due for its next check, however many services look at it.

/**
 * The condition, in SQL, that a row was not checked in the last `interval` ms before :now. A check that is further ahead than that
 * comes from a clock that was wrong.
 */
export const isDueAfter = (interval: number): string =>
  `(checked_at is null or checked_at <= :now - ${interval} or checked_at > :now + ${interval})`;
