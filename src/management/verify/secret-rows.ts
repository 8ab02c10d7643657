// Compares the stored hashes of the secrets of a key or a token with its row and with the audit log.
import { groupBy } from "../../support/group-by.ts";
import type { Database, Row } from "../../database/database.ts";
import { integerOrNull, text } from "../../database/row.ts";
import { loggedHashOf } from "../access/secrets.ts";

/** Storage of a noun's secrets: the table, the column of the holder's id, and the columns that copy its members. */
export type SecretKind = { table: string; owner: string; copied: Record<string, string> };

/** A key or a token. Other rows are never revoked. */
export type Holder = { id: string; revokedAt?: number | null };

/** Secrets of a holder according to the log, oldest first. Entries of early versions have no hash. */
export type Issued = {
  /** True if it has the entry of the creation: then all secrets and their ends are known. */
  isCreated: boolean;
  hashes: (string | undefined)[];
  /** First moment at which each is refused. */
  ends: (number | null)[];
};

/** Applies an entry to the secrets: the state of the holder since, and the logged hash of the new one. */
export function addIssue(
  { hashes, ends }: Issued,
  action: string,
  { expiresAt = null, overlapEndsAt }: { expiresAt?: number | null; overlapEndsAt?: number | null },
  secretHash: string | undefined,
): void {
  if (action.endsWith(".expiring")) return;
  // Without an overlap, or once the holder is revoked, a secret ends at 0.
  const last = action.endsWith(".rotated") ? overlapEndsAt ?? 0 : 0;
  for (const [nth, end] of ends.entries()) ends[nth] = Math.min(end ?? last, last);
  if (action.endsWith(".revoked")) return;
  hashes.push(secretHash);
  ends.push(expiresAt);
}

/** The rows of the secrets of some holders, by the id of the holder. */
export async function readSecrets(
  database: Database,
  { table, owner }: SecretKind,
  ids: string[],
): Promise<Map<string, Row[]>> {
  const sql = `select * from ${table} where ${owner} in (select value from json_each(?))`;
  return groupBy(await database.read({ sql, args: [JSON.stringify(ids)] }), (row) => text(row, owner));
}

/** True if the secrets of a holder differ from the expected ones. */
export async function areOther(rows: Row[], { copied }: SecretKind, holder: Holder, issued: Issued): Promise<boolean> {
  const isCopy = (row: Row) =>
    Object.entries(copied).every(([column, member]) => {
      const value = (holder as Record<string, unknown>)[member];
      return row[column] === (typeof value === "boolean" ? Number(value) : value);
    });
  if (!rows.every(isCopy) || issued.isCreated && rows.length !== issued.ends.length) return true;
  const left = await Promise.all(rows.map(async (row) => ({
    hash: await loggedHashOf(text(row, "hash")),
    end: integerOrNull(row, "expires_at"),
  })));
  const isRevoked = (holder.revokedAt ?? null) !== null;
  if (isRevoked && left.some(({ end }) => end !== 0)) return true;
  // Secrets with a hash come first, so each of the others finds one that is left.
  const known = issued.ends.map((end, nth) => ({ end, hash: issued.hashes[nth] }));
  known.sort((a, b) => Number(a.hash === undefined) - Number(b.hash === undefined));
  for (const { hash, end } of known) {
    const nth = left.findIndex((secret) =>
      (secret.end === end || !issued.isCreated) && (hash === undefined || secret.hash === hash)
    );
    if (nth < 0) return true;
    left.splice(nth, 1);
  }
  return false;
}
