// The Idempotency-Key header, with which a client can safely retry a submit whose response was lost.
import { invalidIdempotencyKey } from "../common/errors.ts";
import { sha256 } from "../common/ids.ts";
import type { DeploymentId } from "../common/ids.ts";
import type { IdempotencyKey, NewDiagnosis } from "../ledger/admission.ts";

/** The key, bare or quoted, and a fingerprint of the request; undefined without the header. */
export async function readIdempotencyKey(
  request: Request,
  deployId: DeploymentId,
  { document }: NewDiagnosis,
): Promise<IdempotencyKey | undefined> {
  const header = request.headers.get("Idempotency-Key");
  if (header === null) return undefined;
  const key = /^"(?:[^"\\]|\\["\\])*"$/.test(header) ? header.slice(1, -1).replace(/\\(.)/g, "$1") : header;
  if (!/^[ -~]{1,255}$/.test(key)) throw invalidIdempotencyKey();
  // The key is only compared, and might be a secret, so it is hashed.
  return { key: await sha256(key), fingerprint: await sha256(`${deployId}\n${document}`) };
}
