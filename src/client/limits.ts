// Times, in ms, and limits of the client that are not options. The file has no imports, because bundlers then inline
// its constants.

export const watchEvery = 15_000;
/** The watch pauses after this time without a request for a prompt. */
export const restAfter = 600_000;

export const firstBackOff = 250;
/** Maximum back-off of a foreground retry, the watch, and background work. */
export const longestWait = 5_000;
export const longestWatchBackOff = 15_000;
export const maxBackOff = 60_000;
/** Longer pauses that the service asks for are not waited out. */
export const longestRetryAfter = 30_000;
/** Time before a refused request is tried again. */
export const refusedFor = 60_000;
/** Time before a record that was set aside is sent again. */
export const asideFor = 300_000;

/** Timeout of a request once the application is idle. It delays the exit of the process by as much. */
export const idleTime = 3_000;
/** Time that the application counts as active after its last call. */
export const activeTime = 4_000;
/** Maximum size of a decompressed response, and so of a prompt. */
export const maxResponseBytes = 8_388_608;

/** Maximum number of cached prompts, and of remembered failures. */
export const maxPrompts = 1_000;

export const batchSize = 50;
export const feedbackBatchSize = 500;
export const batchDelay = 1_000;
/** Below the service's default body limit of 1 MiB. */
export const maxBatchBytes = 1_000_000;
/** Maximum number of concurrent batches. */
export const maxSends = 4;
/** Records and feedback are retried for this time. The service remembers their keys for two days. */
export const oldestRecord = 86_400_000;

export const flushTime = 5_000;
