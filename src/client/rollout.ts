// Selects the version of a rollout for a key, identically in every client and in the service. The vectors in
// test/client/rollout-vectors.json pin it.
import type { ServedRollout } from "../schema/shapes.ts";

type Share = Pick<ServedRollout, "salt" | "percent">;

/**
 * True if the first 48 bits of SHA-256 over the UTF-8 of `DEPLOYMENT.SALT.KEY` are less than 2^48 times the share. So a
 * greater share keeps the keys that have the candidate.
 */
export const getsCandidate = async (deployId: string, { salt, percent }: Share, key: string): Promise<boolean> => {
  const text = new TextEncoder().encode(`${deployId}.${salt}.${key}`);
  const bucket = new DataView(await crypto.subtle.digest("SHA-256", text)).getBigUint64(0) >> 16n;
  // Tenths of a percent are not exact as doubles.
  return bucket * 1000n < BigInt(Math.round(percent * 10)) << 48n;
};
