// Assigns the candidate of a rollout by its deployment, its salt and a key, identically in every client. The vectors in
// test/client/rollout-vectors.json pin it.
import { sha256 } from "./ids.ts";

/** The first 48 bits of SHA-256 over the UTF-8 of `DEPLOYMENT.SALT.KEY`, as an integer. */
export const bucketOf = async (deployId: string, salt: string, key: string): Promise<number> =>
  parseInt((await sha256(`${deployId}.${salt}.${key}`)).slice(0, 12), 16);

/**
 * True if a bucket gets the candidate at a share in tenths of a percent: `bucket / 2^48 < tenths / 1000`, exactly. So a
 * greater share keeps those that have it.
 */
export const isInRollout = (bucket: number, tenths: number): boolean => BigInt(bucket) * 1000n < BigInt(tenths) << 48n;
