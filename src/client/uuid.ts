// Generates the idempotency keys of records.

/** Generates a UUID of version 7, which begins with the time (Unix ms). */
export const newUuid = (now: number): string =>
  `${now.toString(16).padStart(12, "0").replace(/.{8}/, "$&-")}-7${crypto.randomUUID().slice(15)}`;
