// Idempotency keys, with which a client can safely retry a submit whose response was lost.
import { invalidIdempotencyKey } from "../../common/errors.ts";
import { sha256 } from "../../common/ids.ts";
import type { IdempotencyKey } from "../../ledger/admission.ts";
import { isIdempotencyKey } from "../../schema/values.ts";
import type { Submitted } from "./record.ts";

/** The Idempotency-Key header of a request, bare or quoted. It is not checked yet. */
export function readIdempotencyKey({ headers }: Request): string | undefined {
  const header = headers.get("Idempotency-Key") ?? undefined;
  return /^"(?:[^"\\]|\\["\\])*"$/.test(header ?? "") ? header!.slice(1, -1).replace(/\\(.)/g, "$1") : header;
}

/**
 * The key with a fingerprint of the request; undefined without a key. The key is only compared, and might be a secret,
 * so it is hashed.
 */
export async function toIdempotencyKey(
  key: string | undefined,
  deployId: string,
  { record: { document }, promptVersion, rollout }: Submitted,
): Promise<IdempotencyKey | undefined> {
  if (key === undefined) return undefined;
  if (!isIdempotencyKey(key)) throw invalidIdempotencyKey();
  // A rollout comes with a version.
  const parts = [deployId, document, promptVersion, rollout].filter((part) => part !== undefined);
  return { key: await sha256(key), fingerprint: await sha256(parts.join("\n")) };
}
