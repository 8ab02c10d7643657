// Sessions: records with the same session id, of the deployments of a workspace.
import type { Page } from "../common/domain.ts";
import { getOrAdd } from "../support/maps.ts";
import { defaultPageSize } from "../database/page.ts";
import type { Database } from "../database/database.ts";
import { findLogRange, goesOn } from "../ledger/blocks.ts";
import type { LogRange, SearchRequest } from "../ledger/blocks.ts";
import { createFeedbackBound } from "./feedback-bound.ts";
import { scan, scanAll } from "../log/scan.ts";
import type { ScanOptions } from "../log/scan.ts";
import { addOutcome, emptyOutcomes } from "./tally.ts";
import type { Outcomes } from "./tally.ts";

/** The tally of a session. Times are those of its first and its last record, in Unix ms. */
export type SessionTally = Outcomes & { sessionId: string; firstAt: number; lastAt: number };

/** Finds the sessions of records in `matching`, and counts their records in `counted`, which may be the same. */
export type SessionScan = { matching: ScanOptions; counted: ScanOptions };

const sliceLength = 4_096; // positions that one query scans
const scanLimit = { least: sliceLength };

/**
 * Receives the number of sessions found, and then the share of the log in which their records were counted, from 0 to
 * 1.
 */
type Progress = { found?: ((sessions: number) => void) | undefined; counted(share: number): void };

/**
 * The sessions of the records that match, ordered by the newest of these first. The cursor has the position to continue
 * from, and the end of the log when the list began: later records are left out, which keeps sessions on their pages.
 */
export async function listSessions(
  database: Database,
  { matching, counted }: SessionScan,
  { limit = defaultPageSize, cursor, ...request }: SearchRequest,
  progress: Progress,
): Promise<Page<SessionTally>> {
  const whole = matching.range ?? await findLogRange(database, matching.filter);
  const [before, listEnd] = (cursor ?? "").split("_").map(Number) as [number, number | undefined];
  const scope = { first: whole.first, end: Math.min(whole.end, listEnd ?? Infinity) };
  const start = cursor === undefined ? scope.end : Math.min(scope.end, before);
  const chosen = new Map<string, number>();
  let low = start;
  while (low > scope.first && chosen.size <= limit && goesOn(request, start - low, scanLimit)) {
    const part = { first: Math.max(scope.first, low - sliceLength), end: low };
    const newest = new Map<string, number>();
    await scan(database, { ...matching, reads: { sessions: true } }, part, ({ session, position }) => {
      if (position > (newest.get(session) ?? 0)) newest.set(session, position);
    });
    for (const [session, position] of [...newest].sort(([, a], [, b]) => b - a)) {
      if (!chosen.has(session)) chosen.set(session, position);
    }
    low = part.first;
    progress.found?.(Math.min(chosen.size, limit));
  }
  // One session more than the limit shows where the next page begins.
  const ids = [...chosen.keys()].slice(0, limit);
  const next = chosen.size > limit ? [...chosen.values()][limit]! + 1 : low > scope.first ? low : null;
  // A session with newer records that match was on an earlier page.
  const earlier = await findSessions(database, matching, ids, { first: start, end: scope.end });
  const left = ids.filter((id) => !earlier.has(id));
  const { tallies, rest } = await countSessions(database, counted, left, scope, progress.counted);
  const nextPosition = rest === undefined ? next : chosen.get(rest)! + 1;
  return {
    items: left.flatMap((id) => tallies.get(id) ?? []),
    nextCursor: nextPosition === null ? null : `${nextPosition}_${scope.end}`,
  };
}

/** The session with this id, if one of its records matches. It is found however old it is. */
export async function findSession(
  database: Database,
  { matching, counted }: SessionScan,
  sessionId: string,
  report: (share: number) => void,
): Promise<SessionTally | undefined> {
  const scope = matching.range ?? await findLogRange(database, matching.filter);
  const isFound = matching === counted || (await findSessions(database, matching, [sessionId], scope)).has(sessionId);
  if (!isFound) return undefined;
  return (await countSessions(database, counted, [sessionId], scope, report)).tallies.get(sessionId);
}

const ofSessions = ({ filter, reads, ...options }: ScanOptions, sessionIds: string[]): ScanOptions => ({
  ...options,
  filter: { ...filter, sessionIds },
  reads: { ...reads, sessions: true },
});

/** The sessions that have records that match in a range of the log. */
async function findSessions(
  database: Database,
  { reads: _, ...matching }: ScanOptions,
  sessionIds: string[],
  scope: LogRange,
): Promise<Set<string>> {
  const found = new Set<string>();
  if (sessionIds.length === 0) return found;
  await scanAll(database, ofSessions(matching, sessionIds), scope, ({ session }) => void found.add(session));
  return found;
}

/**
 * Counts the records of some sessions in a range of the log. If these have feedback under too many names, the last ones are
 * left out: `rest` is the first of those.
 */
async function countSessions(
  database: Database,
  counted: ScanOptions,
  sessionIds: string[],
  scope: LogRange,
  report: (share: number) => void,
): Promise<{ tallies: Map<string, SessionTally>; rest: string | undefined }> {
  const tallies = new Map<string, SessionTally>(), left = [...sessionIds];
  let rest: string | undefined;
  if (sessionIds.length === 0) return { tallies, rest };
  const places = new Map(sessionIds.map((id, place) => [id, place]));
  const bound = createFeedbackBound(() => Array.from(tallies.values(), ({ feedback }) => feedback));
  await scanAll(database, ofSessions(counted, sessionIds), scope, (record) => {
    const { session, createdAt } = record;
    if (places.get(session)! >= left.length) return;
    const tally = getOrAdd(tallies, session, () => {
      return { sessionId: session, ...emptyOutcomes(), firstAt: createdAt, lastAt: createdAt };
    });
    const added = addOutcome(tally, record);
    tally.firstAt = Math.min(tally.firstAt, createdAt);
    tally.lastAt = Math.max(tally.lastAt, createdAt);
    if (added === 0 || bound.add(added) || left.length === 1) return;
    const over = left.splice(Math.ceil(left.length / 2));
    [rest] = over;
    for (const id of over) tallies.delete(id);
    bound.recount();
  }, report);
  return { tallies, rest };
}
