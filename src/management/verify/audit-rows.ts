// Compares the rows of the catalog with the audit log. A row that was changed, added or removed without an entry
// disagrees with its entries. The log has no text of a prompt and no secret, but it has their hashes.
import { contended } from "../../common/errors.ts";
import { isMaskOf } from "../../common/ids.ts";
import type { Database, Row, Statement } from "../../database/database.ts";
import { integer, text } from "../../database/row.ts";
import { alertTable } from "../events/alerts.ts";
import { apiKeyTable } from "../access/api-keys.ts";
import { budgetTable } from "../money/budgets.ts";
import { findLogStart, readMembers, toEntry } from "../kernel/audit-chain.ts";
import type { RowFault } from "./audit-faults.ts";
import { changeRequestTable } from "../deployments/change-requests.ts";
import { findDeployments, toDeployment } from "../deployments/deployments.ts";
import { compareNames } from "./feedback-name-rows.ts";
import { allNouns } from "../kernel/nouns.ts";
import type { AuditedNoun } from "../kernel/nouns.ts";
import { priceTable } from "../prompts/prices.ts";
import { findPrompts, toPrompt } from "../prompts/prompts.ts";
import { findReviews, toReview } from "../feedback/review-progress.ts";
import { addIssue, areOther, readSecrets } from "./secret-rows.ts";
import type { Holder, Issued, SecretKind } from "./secret-rows.ts";
import { tokenTable } from "../access/tokens.ts";
import { findVersionFaults } from "./version-rows.ts";
import { webhookTable } from "../events/webhooks.ts";
import { workspaceTable } from "../kernel/workspaces.ts";

type Item = Holder & { createdAt: number; workspaceId?: string | null };

/** Reads the rows of a noun as its items. */
type Reader = { where(condition: string, args: string[]): Statement; toItem(row: Row): Item };

/** Names of feedback have no ids, and are compared separately. */
const readers: Record<Exclude<AuditedNoun, "feedback_name">, Reader> = {
  workspace: workspaceTable,
  key: apiKeyTable,
  token: tokenTable,
  prompt: { where: findPrompts, toItem: toPrompt },
  deployment: { where: findDeployments, toItem: toDeployment },
  budget: budgetTable,
  change: changeRequestTable,
  review: { where: findReviews, toItem: toReview },
  webhook: webhookTable,
  alert: alertTable,
  price: priceTable,
};

/** Comparison of a noun. `noun` is as in the actions of the log, and `ids` selects the ids of its rows. */
type Compared = Reader & {
  noun: string;
  ids: string;
  unlogged: readonly string[];
  added: Readonly<Record<string, unknown>>;
  secrets: SecretKind | undefined;
};

const compared = Object.entries(readers).map(([noun, reader]): Compared => {
  const { audit: { unlogged = [], added = {}, copiedToSecrets: copied } = {}, tables: [first, second] } = allNouns.get(
    noun,
  )!;
  const ids = `select id from ${first!.name}`;
  return {
    ...{
      ...reader,
      noun,
      unlogged,
      added,
      ids: noun === "workspace" ? `${ids} union select id from deleted_workspaces` : ids,
    },
    secrets: copied && { table: second!.name, owner: second!.holder!, copied },
  };
});

/** Calls `add` with each fault, and `report` with the share that is done. */
export async function findRowFaults(
  database: Database,
  add: (fault: RowFault) => void,
  report: (share: number) => void,
): Promise<void> {
  const logStart = await findLogStart(database);
  const comparisons = [
    ...compared.map((noun) => (after: string) => comparePage(database, noun, after, logStart)),
    (after: string) => compareNames(database, after),
  ];
  for (const [nth, compare] of comparisons.entries()) {
    for (let after: string | undefined = ""; after !== undefined;) {
      const { faults, last } = await readUnchanged(database, () => compare(after!));
      faults.forEach(add);
      after = last;
    }
    report((nth + 1) / (comparisons.length + 1));
  }
  // A deployment also has the time at which its prompt was archived.
  for (const { id } of await database.read({ sql: strayArchivals })) {
    add({ what: "changed", noun: "deployment", id: String(id), members: ["archivedAt"], position: null });
  }
  await findVersionFaults(database, logStart, add);
  report(1);
}

const strayArchivals = `select d.id from deployments d join prompts p on p.id = d.prompt_id
  where d.prompt_archived_at is not p.archived_at order by d.id`;

const maxAttempts = 50;

/** Reads again until there was no change meanwhile, because a change writes a row and its entry together. */
async function readUnchanged<T>(database: Database, read: () => Promise<T>): Promise<T> {
  const readLast = async () => (await database.read({ sql: "select max(position) as last from audit_log" }))[0]!.last;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const before = await readLast(), found = await read();
    if (before === await readLast()) return found;
  }
  throw contended();
}

const pageRows = 64;

/** Compares the rows of a noun after an id. `last` is the start of the next page; undefined on the last one. */
async function comparePage(database: Database, noun: Compared, after: string, logStart: number | undefined) {
  const ids = (await database.read({
    sql: `select id from (${noun.ids}) where id > :after
      union select target_id from audit_log where target_id > :after and action glob :actions
      order by 1 limit ${pageRows}`,
    args: { after, actions: `${noun.noun}.*` },
  })).map((row) => text(row, "id"));
  const faults: RowFault[] = [];
  const histories = await readHistories(database, noun, ids, (fault) => faults.push(fault));
  const rows = await database.read(noun.where("id in (select value from json_each(?))", [JSON.stringify(ids)]));
  const items = new Map(rows.map(noun.toItem).map((item) => [item.id, item]));
  const secrets = noun.secrets && await readSecrets(database, noun.secrets, ids);
  // A workspace that was deleted before the log began has neither a row nor an entry.
  const holders = [...items.values(), ...histories.values()].map(({ workspaceId }) => workspaceId);
  const deletions = await readDeletions(database, noun.noun === "workspace" ? ids : holders);
  for (const id of ids) {
    const item = items.get(id), history = histories.get(id) ?? createHistory();
    const addOne = (what: RowFault["what"], members: string[] = []) =>
      faults.push({ what, noun: noun.noun, id, members, position: history.last });
    const deletion = deletions.get(noun.noun === "workspace" ? id : history.workspaceId ?? item?.workspaceId ?? "");
    if (noun.noun === "workspace") {
      // Its row may still be there, hidden.
      const isOlder = logStart !== undefined && (deletion?.deletedAt ?? Infinity) <= logStart;
      if ((deletion !== undefined) !== history.isRemoved && !isOlder) addOne("removed");
    }
    if (deletion?.isFinished === false) continue;
    const isGone = history.isRemoved || deletion !== undefined;
    if (item === undefined) {
      if (!isGone) addOne("removed");
      continue;
    }
    const isKnown = history.isCreated || logStart !== undefined && item.createdAt <= logStart;
    if (isGone || !isKnown) {
      addOne("added");
      continue;
    }
    const members = differingMembers(noun, item, history);
    if (members.length > 0) addOne("changed", members);
    if (noun.secrets && await areOther(secrets?.get(id) ?? [], noun.secrets, item, history)) {
      addOne("changed", ["secrets"]);
    }
  }
  return { faults, last: ids.length < pageRows ? undefined : ids.at(-1) };
}

/** State of a row after its entries. */
type History = Issued & {
  /** JSON text of each member that an entry has named. */
  state: Map<string, string>;
  workspaceId: string | null;
  isRemoved: boolean;
  /** The position of the last entry. */
  last: number | null;
};

const createHistory = (): History => ({
  ...{ state: new Map(), workspaceId: null, isCreated: false, isRemoved: false },
  ...{ hashes: [], ends: [], last: null },
});

const pageEntries = 100;

/** Histories of rows by id. Calls `add` with entries whose `before` differs from the earlier entries. */
async function readHistories(
  database: Database,
  { noun, secrets }: Compared,
  ids: string[],
  add: (fault: RowFault) => void,
): Promise<Map<string, History>> {
  const histories = new Map<string, History>();
  let position = 0, id = "";
  for (let isLast = false; !isLast;) {
    const rows = await database.read({
      sql: `select * from audit_log where target_id in (select value from json_each(:ids)) and action glob :actions
        and (target_id, position) > (:id, :position) order by target_id, position limit ${pageEntries}`,
      args: { ids: JSON.stringify(ids), actions: `${noun}.*`, id, position },
    });
    for (const row of rows) {
      id = text(row, "target_id");
      position = integer(row, "position");
      const history = histories.get(id) ?? createHistory();
      histories.set(id, history);
      const members = addEntry(history, row, secrets !== undefined);
      if (members.length > 0) add({ what: "found", noun, id, members, position });
    }
    isLast = rows.length < pageEntries;
  }
  return histories;
}

/** Adds an entry to a history. Returns the members whose `before` differs from the history. */
function addEntry(history: History, row: Row, hasSecrets: boolean): string[] {
  const { position, action, workspaceId, before, after } = toEntry(row), { state } = history;
  const isOlder = text(row, "hash") === "";
  const found = readMembers(before).filter(([name, value]) =>
    state.has(name) && name !== "reference" && state.get(name) !== JSON.stringify(value)
  );
  const now = readMembers(after);
  for (const [name, value] of now) state.set(name, JSON.stringify(value));
  history.isCreated ||= !isOlder && before === null && after !== null;
  history.isRemoved = after === null;
  const all = [...state].map(([name, json]) => [name, JSON.parse(json)]);
  if (hasSecrets) {
    addIssue(history, action, Object.fromEntries(all), Object.fromEntries(now).secretHash as string | undefined);
  }
  Object.assign(history, { workspaceId, last: position });
  return isOlder ? [] : found.map(([name]) => name);
}

/** Members of a row that differ from its history. The log masks secrets in names. */
function differingMembers(
  { unlogged, added }: Compared,
  item: Item,
  { state, isCreated, workspaceId, last }: History,
): string[] {
  const expected = new Map(state);
  if (last !== null) expected.set("workspaceId", JSON.stringify(workspaceId));
  return Object.entries(item).filter(([name, value]) => {
    // A member that no entry has named is null since the creation, or as a later migration made it.
    const text = expected.get(name) ?? (isCreated ? JSON.stringify(added[name] ?? null) : undefined);
    const isCompared = name !== "id" && !unlogged.includes(name) && text !== undefined;
    return isCompared && !isMaskOf(text, JSON.stringify(value));
  }).map(([name]) => name);
}

type Deletion = { deletedAt: number; isFinished: boolean };

/** The deletions of some workspaces. */
async function readDeletions(
  database: Database,
  workspaceIds: (string | null | undefined)[],
): Promise<Map<string, Deletion>> {
  const rows = await database.read({
    sql: "select id, deleted_at, finished_at from deleted_workspaces where id in (select value from json_each(?))",
    args: [JSON.stringify([...new Set(workspaceIds)])],
  });
  return new Map(rows.map((row) => [
    text(row, "id"),
    { deletedAt: integer(row, "deleted_at"), isFinished: row.finished_at !== null },
  ]));
}
