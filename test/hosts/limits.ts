// The limits of the service in every host.

/** The largest body that it reads, in bytes, and how long that may take to arrive, in ms. */
export const limits = { maxBodyBytes: 65_536, bodyTimeout: 2_000 };
