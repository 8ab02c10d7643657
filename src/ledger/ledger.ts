// The ledger decides requests. In the same transaction it counts and logs the accepted ones, and stores their records.
// Only the ledger writes quota_usage, commits, calls and diagnoses, so quota used = calls = reads served + records
// stored.
import type { Clock } from "../common/domain.ts";
import { newCommitId } from "../common/ids.ts";
import type { WorkspaceId } from "../common/ids.ts";
import { endOfMonth, monthOf } from "../common/month.ts";
import { createTelemetry } from "../common/telemetry.ts";
import type { Telemetry } from "../common/telemetry.ts";
import { afterCommit, failureOf } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { toBatches, toSubmitSlots } from "./admission.ts";
import type { Admission, Check, Checked, Decision, Read, Recorded, Refused, Served, Submit } from "./admission.ts";
import { encodeBatches, findStates, hasRoom, logCalls, readStates, toDecisions } from "./decide.ts";
import type { BatchState } from "./decide.ts";
import { groupCommit } from "./group-commit.ts";
import { deleteExpiredKeys, storeKeys } from "./idempotency-keys.ts";
import { createPromptCache, serveFrom } from "./prompt-cache.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { addCommit, countCalls, storeRecords, updateLastUsed } from "./statements.ts";
import type { Attempt } from "./statements.ts";
import type { GroupLimits } from "./waiting-room.ts";

export type Ledger = {
  /**
   * Decides a request and counts it. Requests that arrive while others are being decided share the next transaction.
   */
  admit<A extends Read | Submit>(admission: A): Promise<Refused | (A extends Read ? Served : Recorded)>;
  /**
   * Returns the quota that the key's workspace has used this month and, for `revisions`, its deployments. Returns
   * undefined if the key is invalid. Costs no quota. `workspaceId` is the key's workspace, if an earlier request found
   * it.
   */
  check(keyHash: string, operation?: Check["operation"], workspaceId?: WorkspaceId): Promise<Checked | undefined>;
  /** Number of requests that wait for a decision. */
  countWaiting(): number;
};

// An id has two hexadecimal digits for the slot in its commit. A libSQL server takes 5 MB per argument, and a character
// of a document may take three bytes there.
const groupLimits: GroupLimits = {
  items: 256,
  size: 1_500_000,
  waitingItems: 10_000,
  waitingSize: 64_000_000,
  timeoutMs: 10_000,
};

/** Creates the ledger of a database. `limits` overrides the defaults. */
export function createLedger(
  database: Database,
  clock: Clock,
  limits: Partial<GroupLimits> = {},
  telemetry: Telemetry = createTelemetry(),
  prompts: PromptCache = createPromptCache(),
): Ledger {
  const { submit: admit, countWaiting } = groupCommit<Admission, Decision, Attempt>({
    begin: () => {
      const now = clock();
      const month = monthOf(now);
      return { commit: newCommitId(now), now, month, resetsAt: endOfMonth(month) };
    },
    decide: createDecide(database, telemetry, prompts),
    failureOf,
    sizeOf: (admission) => admission.operation === "submit" ? admission.record.document.length : 0,
    // Requests whose workspace is not known yet count as one workspace.
    ownerOf: ({ workspaceId = "" }) => workspaceId,
    // A repeat under the same idempotency key waits for the first.
    conflictKey: (admission) => {
      const key = admission.idempotency?.key;
      return key && `${admission.workspaceId ?? ""} ${key}`;
    },
    isGone: ({ isGone }) => isGone?.() === true,
    isReadOnly,
  }, { ...groupLimits, ...limits });
  return {
    admit: admit as Ledger["admit"],
    async check(keyHash, operation = "check", workspaceId) {
      const decision = await admit({ operation, keyHash, workspaceId, deployId: "" });
      return decision.outcome === "checked" ? decision : undefined;
    },
    countWaiting,
  };
}

const isReadOnly = ({ operation }: Admission): boolean => operation === "check" || operation === "revisions";

function createDecide(database: Database, { commitSeconds, groupSize }: Telemetry, prompts: PromptCache) {
  // After a group in which nothing could be accepted, the next group is read first, without the write lock that
  // accepting takes: a flood of refused requests must not block other processes from writing. A lone request is not
  // read first, as it should take one round trip.
  let readBeforeWrite = false;

  return async (admissions: Admission[], attempt: Attempt): Promise<Map<Admission, Decision>> => {
    const batches = toBatches(admissions);
    const serve = serveFrom(prompts, batches);
    const rows = encodeBatches(batches, serve.knownVersion);
    // A group that is read first may have been accepted by an earlier attempt, whose reply was lost.
    const answer = async (states: (BatchState | null)[]) => {
      const accepted = batches.flatMap((batch, index) => {
        const state = states[index];
        return state && state.accepted > 0 ? [{ batch, prompt: state.prompt }] : [];
      });
      await serve.addTexts(database, accepted);
      return toDecisions(batches, states, attempt, serve.prompt);
    };
    const isCheck = admissions.every(isReadOnly);
    if (isCheck || readBeforeWrite && admissions.length > 1) {
      const states = readStates(await database.read(findStates(rows, attempt)), attempt);
      if (isCheck || !states.some(hasRoom)) return await answer(states);
    }
    const slots = toSubmitSlots(batches);
    const hasSubmit = slots.some((submit) => submit !== null);
    const hasKey = slots.some((submit) => submit?.idempotency !== undefined);
    const began = performance.now();
    const results = await database.write([
      ...(hasKey ? [deleteExpiredKeys(attempt)] : []),
      logCalls(rows, attempt),
      addCommit(attempt),
      countCalls(attempt),
      ...(hasSubmit ? [storeRecords(slots, attempt)] : []),
      ...(hasKey ? [storeKeys(slots, attempt)] : []),
      updateLastUsed(attempt),
      findStates(rows, attempt),
    ]);
    commitSeconds((performance.now() - began) / 1000);
    groupSize(admissions.length);
    return await afterCommit(() => {
      const states = readStates(results.at(-1)!, attempt);
      readBeforeWrite = !states.some(hasRoom);
      return answer(states);
    });
  };
}
