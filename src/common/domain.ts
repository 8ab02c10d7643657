// Types of every layer. Times are Unix milliseconds, UTC.

/** Returns the time in Unix milliseconds. An argument wherever time matters, which tests can set. */
export type Clock = () => number;

/** A part of a list, and the cursor of the next one, or null after the last. */
export type Page<T> = { items: T[]; nextCursor: string | null };

/** The part of a list to return: at most `limit` entries, after the cursor of an earlier part. */
export type PageRequest = { limit?: number | undefined; cursor?: string | undefined };
