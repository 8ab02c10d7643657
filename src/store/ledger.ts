// The ledger: decides requests, and in the same transaction counts them, logs them and stores their records.
// Nothing else writes quota_usage, calls or diagnoses, so quota used = calls = reads served + records stored.
import type { Clock, Quota } from "../domain.ts";
import { newGroupId, recordIdOf } from "../ids.ts";
import type { JsonText } from "../json-text.ts";
import { makeWellFormed } from "../json-text.ts";
import { monthOf } from "../month.ts";
import { acceptCalls, countCalls, findGroup, keepKeys, storeRecords } from "./admission.ts";
import type { Finding, Findings, Payload } from "./admission.ts";
import { isPassing } from "./database.ts";
import type { Database, Row } from "./database.ts";
import { groupCommit } from "./group-commit.ts";
import type { GroupLimits } from "./group-commit.ts";
import { text } from "./row.ts";
import { createServedPrompts } from "./served-prompts.ts";
import type { ServedPrompts } from "./served-prompts.ts";

/** A record to store; `document` is the JSON object that is read back. */
export type NewDiagnosis = { sessionId: string; status: number; document: string };

/** A key under which a client may repeat a submit, and what tells its request from others. */
export type IdempotencyKey = { key: string; fingerprint: string };

export type Read = { operation: "read"; keyHash: string; deployId: string };
export type Submit = {
  operation: "submit";
  keyHash: string;
  deployId: string;
  record: NewDiagnosis;
  idempotency?: IdempotencyKey | undefined;
};
/** Asks for nothing but whether the key is valid; never accepted. */
type Check = { operation: "check"; keyHash: string; deployId: "" };
type Admission = Read | Submit | Check;

/** Why a request was not accepted. It has left nothing in the database. */
export type Refused =
  | { outcome: "key_invalid" }
  | { outcome: "deployment_not_found" }
  | { outcome: "key_reused" }
  | { outcome: "quota_exhausted"; quota: Quota };
/** `prompt` is the prompt as the specification serves it. */
export type Served = { outcome: "read"; prompt: JsonText; quota: Quota };
export type Recorded = { outcome: "recorded"; recordId: string; quota: Quota };
type Verdict = Served | Recorded | Refused;

export type Ledger = {
  /** Decides a request and makes it count. Requests that come while others are decided share the next transaction. */
  admit<A extends Read | Submit>(admission: A): Promise<Refused | (A extends Read ? Served : Recorded)>;
  /** Whether a key is valid, for a request that is refused for something else; it leaves nothing behind. */
  isKeyValid(keyHash: string): Promise<boolean>;
};

/** All attempts at a group judge it by the same moment, and write under the same ids. */
type Attempt = { group: string; now: number };

// A group's turns have two hexadecimal digits. A libSQL server takes 5 MB per argument, and a character of a document
// may take three bytes there.
const limits: GroupLimits = {
  items: 256,
  size: 1_500_000,
  waitingItems: 10_000,
  waitingSize: 64_000_000,
  patience: 10_000,
};

export function createLedger(database: Database, clock: Clock): Ledger {
  const prompts = createServedPrompts();
  const decide = createDecide(database, prompts);
  const admit = groupCommit<Admission, Verdict, Attempt>({
    begin: () => {
      const now = clock();
      return { group: newGroupId(now), now };
    },
    decide,
    isPassing,
    sizeOf: (admission) => admission.operation === "submit" ? admission.record.document.length : 0,
    // A repeat under the same key is decided when the first has been.
    aloneBy: (admission) => admission.operation === "submit" ? admission.idempotency?.key : undefined,
  }, limits);
  return {
    admit: admit as Ledger["admit"],
    isKeyValid: async (keyHash) =>
      (await admit({ operation: "check", keyHash, deployId: "" })).outcome !== "key_invalid",
  };
}

function createDecide(database: Database, prompts: ServedPrompts) {
  // After a group of which nothing was accepted the next one is looked at first, without the write lock that accepting
  // takes: a flood of requests that are refused does not keep other processes from writing.
  let isLookedAtFirst = false;

  return async (admissions: Admission[], attempt: Attempt): Promise<Verdict[]> => {
    const { payload, turns } = toPayload(admissions, attempt, prompts);
    const { records, keys } = payload;
    if (isLookedAtFirst) {
      const findings = readFindings(await database.read(findGroup(payload)));
      if (!admissions.some((admission, turn) => isAcceptable(admission, findings.combos[turns[turn]!]!))) {
        return toVerdicts(admissions, turns, findings, attempt, prompts);
      }
    }
    const results = await database.write([
      acceptCalls(payload),
      countCalls(payload),
      ...(records === undefined ? [] : [storeRecords(records, payload)]),
      ...(keys === undefined ? [] : [keepKeys(keys, payload)]),
      findGroup(payload),
    ]);
    const findings = readFindings(results.at(-1)!);
    isLookedAtFirst = Object.keys(findings.numbers).length === 0;
    return toVerdicts(admissions, turns, findings, attempt, prompts);
  };
}

const isAcceptable = ({ operation }: Admission, { isFound, used, limit }: Finding) =>
  operation !== "check" && isFound === 1 && used < limit;

function toPayload(admissions: Admission[], { group, now }: Attempt, prompts: ServedPrompts) {
  const indexes = new Map<string, number>();
  const combos: [keyHash: string, deployId: string, operation: string, knownVersion: number][] = [];
  const turns = admissions.map(({ keyHash, deployId, operation }) => {
    const name = `${keyHash} ${operation} ${deployId}`;
    const index = indexes.get(name) ?? combos.push([keyHash, deployId, operation, prompts.knownVersion(deployId)]) - 1;
    indexes.set(name, index);
    return index;
  });
  const submits = admissions.map((admission) => admission.operation === "submit" ? admission : null);
  const byTurn = <T>(valueOf: (submit: Submit) => T) => toJson(submits.map((submit) => submit && valueOf(submit)));
  const payload: Payload = {
    combos: toJson(combos),
    turns: toJson(turns),
    group,
    now,
    month: monthOf(now),
    records: submits.every((submit) => submit === null) ? undefined : {
      documents: byTurn(({ record }) => record.document),
      sessions: byTurn(({ record }) => record.sessionId),
      statuses: byTurn(({ record }) => record.status),
    },
    keys: submits.every((submit) => submit?.idempotency === undefined) ? undefined : {
      keys: byTurn(({ idempotency }) => idempotency?.key ?? null),
      fingerprints: byTurn(({ idempotency }) => idempotency?.fingerprint ?? null),
    },
  };
  return { payload, turns };
}

/** JSON for SQL, which would store the escape of a lone surrogate as bytes that no one can read back. */
const toJson = (value: unknown) => makeWellFormed(JSON.stringify(value));

const readFindings = ([row]: Row[]): Findings => JSON.parse(text(row!, "findings"));

function toVerdicts(
  admissions: Admission[],
  turns: number[],
  { combos, numbers, keys }: Findings,
  { group, now }: Attempt,
  prompts: ServedPrompts,
): Verdict[] {
  return admissions.map((admission, turn) => {
    const finding = combos[turns[turn]!]!;
    const suffix = turn.toString(16).padStart(2, "0");
    const number = numbers[suffix];
    const quota = {
      month: monthOf(now),
      limit: finding.limit,
      used: number ?? finding.used,
      upgradeUrl: finding.upgradeUrl,
    };
    if (finding.isKeyValid === 0) return { outcome: "key_invalid" };
    if (number !== undefined && admission.operation === "read") {
      return { outcome: "read", prompt: prompts.serve(admission.deployId, finding), quota };
    }
    if (number !== undefined) return { outcome: "recorded", recordId: recordIdOf(group + suffix), quota };
    const kept = keys[turn];
    if (
      kept !== undefined && admission.operation === "submit" && kept.fingerprint === admission.idempotency?.fingerprint
    ) {
      return { outcome: "recorded", recordId: kept.recordId, quota };
    }
    if (finding.isFound === 0) return { outcome: "deployment_not_found" };
    return kept === undefined ? { outcome: "quota_exhausted", quota } : { outcome: "key_reused" };
  });
}
