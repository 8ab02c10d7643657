// The limits of the service in every host.

/** The largest body that it reads, in bytes, and how long that and the taking of a response may take, in ms. */
export const limits = { maxBodyBytes: 65_536, bodyTimeout: 2_000, stallTimeout: 2_000 };
