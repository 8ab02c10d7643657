// The Idempotency-Key header: under it a client repeats a submit whose answer it has not got, and nothing happens twice.
import { invalidIdempotencyKey } from "../common/errors.ts";
import { sha256 } from "../common/ids.ts";
import type { DeploymentId } from "../common/ids.ts";
import type { IdempotencyKey, NewDiagnosis } from "../ledger/admission.ts";

/** The key, bare or quoted, with what tells this request from another under the same key; undefined without the header. */
export async function readIdempotencyKey(
  request: Request,
  deployId: DeploymentId,
  { document }: NewDiagnosis,
): Promise<IdempotencyKey | undefined> {
  const header = request.headers.get("Idempotency-Key");
  if (header === null) return undefined;
  const key = /^"(?:[^"\\]|\\["\\])*"$/.test(header) ? header.slice(1, -1).replace(/\\(.)/g, "$1") : header;
  if (!/^[ -~]{1,255}$/.test(key)) throw invalidIdempotencyKey();
  // Hashed, since it might be a secret: it is only ever compared.
  return { key: await sha256(key), fingerprint: await sha256(`${deployId}\n${document}`) };
}
