// Types of every layer. Times are Unix milliseconds, UTC.

/** Now, in Unix milliseconds. Handed in wherever time matters, so that tests can set it. */
export type Clock = () => number;

/** A part of a list, and where the next one begins; null where there is none. */
export type Page<T> = { items: T[]; nextCursor: string | null };

/** How a list is asked for: so many entries at most, beginning where an earlier answer ended. */
export type PageRequest = { limit?: number | undefined; cursor?: string | undefined };
