// The times, in ms, and the bounds of the client that are no options. They stand in a file without imports, because bundlers put
// such constants where they are used.

export const watchEvery = 15_000;
/** Without a prompt being asked for, the watch rests after this time. */
export const restAfter = 600_000;

export const firstBackOff = 250;
/** Of a retry that somebody waits for, of the watch, and of what is done behind. */
export const longestWait = 5_000;
export const longestWatchBackOff = 15_000;
export const maxBackOff = 60_000;
/** A service that asks to wait longer is not waited for. */
export const longestRetryAfter = 30_000;
/** What was refused is not tried again for this time. */
export const refusedFor = 60_000;
/** A record that was set aside is sent again after this time. */
export const asideFor = 300_000;

/** How long a request may take once the application asks for nothing any more. A process that has ended waits for it. */
export const idleTime = 3_000;
/** The same since the application last asked for something. */
export const activeTime = 4_000;
/** The size of a response, decompressed. Prompts are at most as large. */
export const maxResponseBytes = 8_388_608;

/** How many prompts are cached, and how many failures are remembered. */
export const maxPrompts = 1_000;

export const batchSize = 50;
export const feedbackBatchSize = 500;
export const batchDelay = 1_000;
/** The service takes bodies of 1 MiB unless it is configured otherwise. */
export const maxBatchBytes = 1_000_000;
/** How many batches are sent at the same time. */
export const maxSends = 4;
/** A record, or feedback, is tried for this time. The service knows its key for two days. */
export const oldestRecord = 86_400_000;

export const flushTime = 5_000;
