// The limits of the service in every host.

/** The largest body that it reads, in bytes. */
export const maxBodyBytes = 65_536;

/** All limits. A hasty service gives a body, and a client that reads nothing, little time: others give more than they take. */
export function limitsOf(isHasty: boolean) {
  const time = isHasty ? 2_000 : 600_000; // ms
  return { maxBodyBytes, bodyTimeout: time, stallTimeout: time };
}
