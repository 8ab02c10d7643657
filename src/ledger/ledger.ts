// The ledger: decides requests, and in the same transaction counts them, logs them and stores their records.
// Nothing else writes quota_usage, commits, calls or diagnoses, so quota used = calls = reads served + records stored.
import type { Clock, Usage } from "../common/domain.ts";
import { newCommitId } from "../common/ids.ts";
import { makeWellFormed } from "../common/json-text.ts";
import { endOfMonth, monthOf } from "../common/month.ts";
import { createTelemetry } from "../common/telemetry.ts";
import type { Telemetry } from "../common/telemetry.ts";
import { findRuns, idempotencyOf } from "./admission.ts";
import type { Admission, Caller, Read, Recorded, Refused, Run, Served, Submit, Verdict } from "./admission.ts";
import { failureOf, indeterminateError } from "../database/database.ts";
import type { Database, Row } from "../database/database.ts";
import { groupCommit } from "./group-commit.ts";
import { forgetKeys, keepKeys } from "./idempotency-keys.ts";
import { createKeyUse, noteUse } from "./key-use.ts";
import { text } from "../database/row.ts";
import { createPromptCache, mostTexts, serveFrom } from "./prompt-cache.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { addCommit, countCalls, findGroup, logCalls, storeRecords } from "./statements.ts";
import type { Finding, Payload, RunEntry } from "./statements.ts";
import { toVerdicts } from "./verdicts.ts";
import type { Attempt } from "./verdicts.ts";
import type { GroupLimits } from "./waiting-room.ts";

export type Ledger = {
  /** Decides a request and makes it count. Requests that come while others are decided share the next transaction. */
  admit<A extends Read | Submit>(admission: A): Promise<Refused | (A extends Read ? Served : Recorded)>;
  /** Whose key it is, for a request that is refused for something else: undefined where it is not valid. Leaves nothing behind. */
  findCaller(keyHash: string): Promise<Caller | undefined>;
  /** What the workspace of a key has used of this month's quota; undefined where the key is not valid. Costs nothing. */
  readUsage(keyHash: string): Promise<{ usage: Usage; caller: Caller | undefined } | undefined>;
  /** How many requests wait to be decided. */
  countWaiting(): number;
};

// A place in a commit has two hexadecimal digits. A libSQL server takes 5 MB per argument, and a character of a document
// may take three bytes there.
const groupLimits: GroupLimits = {
  items: 256,
  size: 1_500_000,
  waitingItems: 10_000,
  waitingSize: 64_000_000,
  timeoutMs: 10_000,
};

/** Makes the ledger of a database; `limits` replaces those of its own. */
export function createLedger(
  database: Database,
  clock: Clock,
  limits: Partial<GroupLimits> = {},
  telemetry: Telemetry = createTelemetry(),
  prompts: PromptCache = createPromptCache(),
): Ledger {
  const { submit: admit, countWaiting } = groupCommit<Admission, Verdict, Attempt>({
    begin: () => {
      const now = clock();
      const month = monthOf(now);
      return { commit: newCommitId(now), now, month, resetsAt: endOfMonth(month) };
    },
    decide: createDecide(database, telemetry, prompts),
    failureOf,
    sizeOf: (admission) => admission.operation === "submit" ? admission.record.document.length : 0,
    // What no workspace is known of yet shares one place among the workspaces.
    ownerOf: ({ workspaceId = "" }) => workspaceId,
    // A repeat under the same key is decided when the first has been.
    conflictKey: (admission) => {
      const key = idempotencyOf(admission)?.key;
      return key && `${admission.workspaceId ?? ""} ${key}`;
    },
    isGone: ({ isGone }) => isGone !== undefined && isGone(),
  }, { ...groupLimits, ...limits });
  const check = (keyHash: string) => admit({ operation: "check", keyHash, deployId: "" });
  return {
    admit: admit as Ledger["admit"],
    findCaller: async (keyHash) => (await check(keyHash)).audit.caller,
    async readUsage(keyHash) {
      const verdict = await check(keyHash);
      return verdict.outcome === "checked" ? { usage: verdict.usage, caller: verdict.audit.caller } : undefined;
    },
    countWaiting,
  };
}

function createDecide(database: Database, { commitSeconds, groupSize }: Telemetry, prompts: PromptCache) {
  const keyUse = createKeyUse();
  // After a group of which nothing could be accepted the next one is looked at first, without the write lock that
  // accepting takes: a flood of requests that are refused does not keep other processes from writing. A lone request is
  // not, so that it takes one round trip.
  let isLookedAtFirst = false;

  return async (admissions: Admission[], attempt: Attempt): Promise<Map<Admission, Verdict>> => {
    const runs = findRuns(admissions);
    const serve = serveFrom(prompts, runs.map(({ admissions: [admission] }) => admission!.deployId));
    const due = keyUse.findDue(runs.map(({ admissions: [admission] }) => admission!.keyHash), attempt.now);
    const payload = toPayload(runs, attempt, serve.knownVersion);
    const asksNothing = admissions.every(({ operation }) => operation === "check");
    if (asksNothing || isLookedAtFirst && admissions.length > 1) {
      const findings = readFindings(await database.read(findGroup(payload)), attempt);
      if (asksNothing || !findings.some(hasRoom)) return toVerdicts(runs, findings, attempt, serve.prompt);
    }
    const { records, keys } = payload;
    const began = performance.now();
    const results = await database.write([
      ...(keys === undefined ? [] : [forgetKeys(payload)]),
      logCalls(payload),
      addCommit(payload),
      countCalls(payload),
      ...(records === undefined ? [] : [storeRecords(records, payload)]),
      ...(keys === undefined ? [] : [keepKeys(keys, payload)]),
      ...(due.length === 0 ? [] : [noteUse(due, payload)]),
      findGroup(payload),
    ]);
    commitSeconds((performance.now() - began) / 1000);
    groupSize(admissions.length);
    const findings = readFindings(results.at(-1)!, attempt);
    if (due.length > 0) {
      const accepted = runs.filter((_, index) => wasAccepted(findings[index]!));
      const keys = new Set(accepted.map(({ admissions: [admission] }) => admission!.keyHash));
      for (const keyHash of due) if (keys.has(keyHash)) keyUse.note(keyHash, attempt.now);
    }
    isLookedAtFirst = !findings.some(hasRoom);
    await serve.addTexts(
      database,
      runs.flatMap(({ admissions: [admission] }, index) => {
        const found = wasAccepted(findings[index]!) ? findings[index]![7] : null;
        return found === null ? [] : [[admission!.deployId, found]];
      }),
    );
    return toVerdicts(runs, findings, attempt, serve.prompt);
  };
}

/** Whether one more request like the run's could be accepted. */
const hasRoom = ([, isFound, limit, used]: Finding) => isFound === 1 && used < limit;

const wasAccepted = ([isKeyValid, , , , , number]: Finding) => isKeyValid === 1 && number !== null;

function readFindings([row]: Row[], { commit }: Attempt): Finding[] {
  // Whatever stands between here and a server may send a reply twice.
  if (text(row!, "commit_id") !== commit) throw indeterminateError("The database sent the reply to another group");
  return JSON.parse(text(row!, "findings"));
}

function toPayload(runs: Run[], attempt: Attempt, knownVersion: (deployId: string) => string): Payload {
  const { commit, now, month } = attempt;
  let texts = 0;
  const entries = runs.map(({ first, admissions: [admission, ...more] }): RunEntry => {
    const { keyHash, deployId, operation } = admission!;
    const key = idempotencyOf(admission!)?.key ?? null;
    let version = operation === "read" ? knownVersion(deployId) : null;
    if (version === "" && ++texts > mostTexts) version = null;
    return [keyHash, deployId, operation, first, 1 + more.length, version, key];
  });
  const submits = runs.flatMap(({ admissions }) =>
    admissions.map((admission) => admission.operation === "submit" ? admission : null)
  );
  const byPlace = <T>(valueOf: (submit: Submit) => T) => toJson(submits.map((submit) => submit && valueOf(submit)));
  return {
    runs: toJson(entries),
    commit,
    now,
    month,
    records: submits.every((submit) => submit === null) ? undefined : {
      documents: byPlace(({ record }) => record.document),
      sessions: byPlace(({ record }) => record.sessionId),
      statuses: byPlace(({ record }) => record.status),
      measures: byPlace(({ record }) => record.measures),
    },
    keys: submits.every((submit) => submit?.idempotency === undefined) ? undefined : {
      keys: byPlace(({ idempotency }) => idempotency?.key ?? null),
      fingerprints: byPlace(({ idempotency }) => idempotency?.fingerprint ?? null),
    },
  };
}

/** JSON for SQL, which would store the escape of a lone surrogate as bytes that no one can read back. */
const toJson = (value: unknown) => makeWellFormed(JSON.stringify(value));
