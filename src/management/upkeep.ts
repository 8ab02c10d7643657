// Upkeep of the ledger: verifying that it balances, and pruning what is old.
import { verifyLedger } from "../ledger/verify.ts";
import { pruneAll } from "../ledger/prune.ts";
import { pruneWorkspace } from "../ledger/retention.ts";
import { LedgerBalance } from "../schema/ledger.ts";
import { described, exactly, listOf, named, nullable, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { checkChain } from "./audit-chain.ts";
import { operation, percent } from "./operation.ts";
import { removeForAWhile } from "./paced.ts";
import { requireWorkspace } from "./workspaces.ts";

const Pruned = named(
  "Pruned",
  exactly({
    calls: v.count,
    records: v.count,
    isDone: described(v.isTrue, "Whether that was all; if not, repeat the request"),
  }),
);

/** Prunes in small transactions, and leaves as much time to others between them. */
export const prune = operation({
  id: "prune",
  summary: "Remove calls and records that are older than a time, a day at least; the ledger still balances",
  method: "POST",
  path: "/prune",
  role: "admin",
  roleOverAll: "owner",
  command: "prune --older-than AGE [--workspace ID]",
  input: {
    olderThanMs: described(v.age, "How old what is removed is at least, in milliseconds"),
    workspaceId: optional(described(v.workspaceId, "All workspaces unless given")),
  },
  output: Pruned,
  refusals: ["not_found"],
  isLong: true,
  async run(management, { olderThanMs, workspaceId }) {
    const { database, clock, report } = management;
    if (workspaceId !== undefined) await requireWorkspace(management, workspaceId);
    const before = clock() - olderThanMs;
    const change = { action: "log.pruned", id: workspaceId ?? null, workspaceId: workspaceId ?? null };
    await management.commit([{ ...change, after: { olderThan: before } }], []);
    return await removeForAWhile(
      workspaceId === undefined ? pruneAll(database, before) : pruneWorkspace(database, workspaceId, before),
      ({ calls, records }) => report?.(`Pruned ${calls} calls and ${records} records`),
    );
  },
});

const Verification = named(
  "Verification",
  exactly({
    balanced: v.isTrue,
    total: described(v.count, "How many ledgers were recounted, one for each workspace and month"),
    unbalanced: described(v.count, "How many of them are out of balance"),
    ledgers: described(listOf(LedgerBalance), "1,000 at most, those that are out of balance before the others"),
    audit: described(
      nullable(exactly({
        entries: described(v.count, "How many entries the audit log has"),
        isIntact: described(v.isTrue, "Whether no entry was altered, removed or swapped"),
        brokenAt: described(nullable(v.positive), "The first position that does not fit those before it, or null"),
        head: described(v.text, "The hash of the newest entry. Noted elsewhere, it proves all entries up to that one"),
      })),
      "The check of the audit log; null where only one workspace was asked for",
    ),
  }),
);
export type Verification = Infer<typeof Verification>;

const mostLedgers = 1_000;

export const verify = operation({
  id: "verify",
  summary:
    "Recount the ledger of a workspace, or of all and check the audit log; the command exits 1 when either is wrong",
  method: "GET",
  path: "/verify",
  role: "viewer",
  roleOverAll: "owner",
  command: "verify [--workspace ID]",
  input: { workspaceId: optional(described(v.workspaceId, "All workspaces unless given")) },
  output: Verification,
  refusals: ["not_found"],
  isLong: true,
  async run(management, { workspaceId }) {
    if (workspaceId !== undefined) await requireWorkspace(management, workspaceId);
    const reportOf = (what: string) => (share: number) => management.report?.(`Verified ${percent(share)} of ${what}`);
    const chain = workspaceId === undefined
      ? await checkChain(management.database, reportOf("the audit log"))
      : undefined;
    const all = await verifyLedger(management.database, workspaceId, reportOf("the calls"));
    const wrong = all.filter(({ balanced }) => !balanced);
    const right = all.filter(({ balanced }) => balanced);
    const shown = new Set([...wrong, ...right].slice(0, mostLedgers));
    const ledgers = all.filter((ledger) => shown.has(ledger));
    const audit = chain === undefined ? null : { ...chain, isIntact: chain.brokenAt === null };
    return { balanced: wrong.length === 0, total: all.length, unbalanced: wrong.length, ledgers, audit };
  },
});

export const upkeepOperations = [prune, verify];
