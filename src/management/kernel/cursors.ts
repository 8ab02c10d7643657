// Opaque cursors of the log that all workspaces share. A plain position would reveal to a workspace how much the others
// use the service, and so would two positions whose difference is plain.
import type { Page, PageRequest } from "../../common/domain.ts";
import { wrongField } from "../../common/errors.ts";
import { fromBase62, sha256, toBase62, toHexadecimal } from "../../common/ids.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import type { Database } from "../../database/database.ts";
import type { SearchRequest } from "../../ledger/blocks.ts";
import type { Session } from "./operation.ts";
import { after } from "../../common/timeout.ts";
import { cipherOf, fromHexadecimal, importSecret, ivBytes, readSecret } from "./service-secret.ts";
import { cursorWords } from "./values.ts";

const cursorLength = 60; // digits in base 62 of 44 bytes: the initialization vector, two positions and the tag

/** Encrypts a cursor of the ledger: a position, or two with `_` between them. */
async function seal(database: Database, scope: string, cursor: string): Promise<string> {
  const [first = 0n, second = 0n] = cursor.split("_").map(BigInt);
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const positions = new BigUint64Array([first, second]);
  const sealed = await crypto.subtle.encrypt(cipherOf(iv, scope), await importSecret(database), positions);
  const bytes = toHexadecimal(iv) + toHexadecimal(new Uint8Array(sealed));
  return toBase62(BigInt(`0x${bytes}`), cursorLength);
}

/** Decrypts a cursor. Throws unless it was encrypted for the same scope. */
async function open(database: Database, scope: string, cursor: string): Promise<string> {
  const bytes = fromHexadecimal(
    cursor.length === cursorLength ? fromBase62(cursor).toString(16).padStart(88, "0") : "",
  );
  const key = await importSecret(database);
  const positions = await crypto.subtle.decrypt(cipherOf(bytes.slice(0, ivBytes), scope), key, bytes.slice(ivBytes))
    .catch(() => {
      throw wrongField("cursor", cursorWords);
    });
  const [first, second] = new BigUint64Array(positions);
  return second === 0n ? `${first}` : `${first}_${second}`;
}

// ms that a search for a page takes. Its rows are read after it, within 300 ms in all
const searchTime = 150;

/**
 * Lists a page of the shared log. Its cursors are encrypted for the list and the workspace, differently each time. For a bound
 * caller a page ends early only where the list ends or its own entries are long, because any other end would tell how many
 * positions others fill.
 */
export async function listSealed<T>(
  { database, caller }: Session,
  name: string,
  workspaceId: WorkspaceId | undefined,
  { limit, cursor }: PageRequest,
  list: (request: SearchRequest) => Promise<Page<T>>,
): Promise<Page<T>> {
  const scope = `${name} ${workspaceId ?? ""}`;
  const request = { limit, cursor: cursor && await open(database, scope, cursor) };
  const isOver = caller.workspaceId === undefined ? after(searchTime) : () => false;
  const { items, nextCursor } = await list({ ...request, isOver });
  return { items, nextCursor: nextCursor && await seal(database, scope, nextCursor) };
}

/**
 * Makes a function that hides the hash of an audit log entry from a workspace. The plain hash follows from the
 * position, which could be guessed. The hidden one also changes if the entry or one before it does.
 */
export async function hidingHashes(
  database: Database,
  workspaceId: WorkspaceId,
): Promise<(hash: string) => Promise<string>> {
  const secret = await readSecret(database);
  return async (hash) => hash && await sha256(JSON.stringify([secret, workspaceId, hash]));
}
