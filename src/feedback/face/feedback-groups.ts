// Stores feedback in groups, one transaction each. While other requests are in flight, a large group is stored in
// parts, and they can use the connection in between.
import type { Clock } from "../../common/domain.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { failureOf, isFile } from "../../database/database.ts";
import type { Database } from "../../database/database.ts";
import { giveFeedback } from "../feedback.ts";
import type { FeedbackResult } from "../feedback.ts";
import type { Piece } from "../feedback-state.ts";
import { groupCommit } from "../../ledger/group-commit.ts";

/** A piece, and the workspace whose share of the waiting room it takes. */
export type OwnedPiece = Piece & { workspaceId: WorkspaceId };

type Parts = {
  database: Database;
  clock: Clock;
  /** True if requests other than feedback are in flight. */
  hasOthers(): boolean;
  /** Receives the number of pieces dropped because their record never arrived. */
  onExpired(pieces: number): void;
};

/** State shared by all attempts at a group: its time, and the results of the parts already stored. */
type Attempt = { now: number; results: Map<OwnedPiece, FeedbackResult> };

const limits = { items: 512, size: 1_000_000, waitingItems: 10_000, waitingSize: 32_000_000, timeoutMs: 10_000 };
const partSize = 100; // pieces: some ms
const share = 3; // times as long as a part took: the time for other requests before the next one
const memoryMs = 50; // that other requests count as in flight after the last. Those of one transaction end together

/** Creates the function that stores a piece. It rejects if too many wait. */
export function createGroups(
  { database, clock, hasOthers, onExpired }: Parts,
): (piece: OwnedPiece) => Promise<FeedbackResult> {
  let resumeAt = -Infinity, othersAt = -Infinity;

  function areOthersThere(): boolean {
    const now = performance.now();
    if (hasOthers()) othersAt = now;
    return now - othersAt < memoryMs;
  }

  /** Waits until other requests had their share. Returns whether there are any. */
  async function leaveToOthers(): Promise<boolean> {
    let areThere = areOthersThere();
    for (let isFirst = true; performance.now() < resumeAt && (areThere || isFirst); isFirst = false) {
      // Requests that arrived during the transaction are in flight from the next task on.
      await new Promise((resolve) => setTimeout(resolve, 1));
      areThere = areOthersThere();
    }
    return areThere;
  }

  async function give(pieces: OwnedPiece[], { now, results }: Attempt): Promise<void> {
    const began = performance.now(), given = await giveFeedback(database, pieces, now), ended = performance.now();
    // A server runs on its own processor, and few pieces take no longer than other requests.
    if (isFile(database) && pieces.length >= partSize) resumeAt = ended + share * (ended - began);
    onExpired(given.expired);
    for (const [index, piece] of pieces.entries()) results.set(piece, given.results[index]!);
  }

  const { submit } = groupCommit<OwnedPiece, FeedbackResult, Attempt>({
    begin: () => ({ now: clock(), results: new Map() }),
    async decide(pieces, attempt) {
      const findLeft = () => pieces.filter((piece) => !attempt.results.has(piece));
      for (let left = findLeft(); left.length > 0; left = findLeft()) {
        await give(await leaveToOthers() ? left.slice(0, partSize) : left, attempt);
      }
      return attempt.results;
    },
    failureOf,
    sizeOf: ({ author, comment, value }) => JSON.stringify([author, comment, value]).length,
    ownerOf: ({ workspaceId }) => workspaceId,
    // Pieces with the same record, name and author are decided in turn, however they refer to the record. Parking one
    // here would put it after later ones that refer to its record otherwise.
    conflictKey: () => undefined,
    isGone: () => false,
    isReadOnly: () => false,
  }, limits);
  return submit;
}
