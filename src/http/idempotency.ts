// Idempotency keys, with which a client can safely retry a submit whose response was lost.
import { invalidIdempotencyKey } from "../common/errors.ts";
import { sha256 } from "../common/ids.ts";
import type { DeploymentRef } from "../common/reference.ts";
import type { IdempotencyKey } from "../ledger/admission.ts";
import { isIdempotencyKey } from "../schema/values.ts";
import type { Submitted } from "./record.ts";

/** The key, bare or quoted, and a fingerprint of the request; undefined without the header. */
export async function readIdempotencyKey(
  request: Request,
  deployId: DeploymentRef,
  submitted: Submitted,
): Promise<IdempotencyKey | undefined> {
  const header = request.headers.get("Idempotency-Key");
  if (header === null) return undefined;
  const key = /^"(?:[^"\\]|\\["\\])*"$/.test(header) ? header.slice(1, -1).replace(/\\(.)/g, "$1") : header;
  if (!isIdempotencyKey(key)) throw invalidIdempotencyKey();
  return await toIdempotencyKey(key, deployId, submitted);
}

/** The key is only compared, and might be a secret, so it is hashed. */
export async function toIdempotencyKey(
  key: string,
  deployId: string,
  { record: { document }, promptVersion }: Submitted,
): Promise<IdempotencyKey> {
  const version = promptVersion === undefined ? "" : `\n${promptVersion}`;
  return { key: await sha256(key), fingerprint: await sha256(`${deployId}\n${document}${version}`) };
}
