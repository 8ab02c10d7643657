// Events: what has changed, for programs that follow it. Each entry of the audit log is one event, in the order of the log, so
// an event exists exactly if its change was made. An event names what changed, by id and by name. It has no secret and no text
// of a prompt.
import { tooManyWaiters, wrongField } from "../../common/errors.ts";
import { sha256 } from "../../common/ids.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import type { Database, Row } from "../../database/database.ts";
import { integer, text, textOrNull } from "../../database/row.ts";
import { described, listOf, oneOf, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { requireKnown } from "./audit.ts";
import { readMembers, toEntry } from "../kernel/audit-chain.ts";
import { actionsOf, typeOf, typesWanted } from "../kernel/event-types.ts";
import { allNouns } from "../kernel/nouns.ts";
import { operation, ownerOf, sources } from "../kernel/operation.ts";
import type { Management, Source } from "../kernel/operation.ts";
import { Origin, originIn } from "../kernel/origin.ts";
import * as v from "../kernel/values.ts";

export const EventSubject = shape("EventSubject", {
  noun: described(v.text, "What changed, such as deployment"),
  id: orNull(v.text, "Its id. Null if all workspaces changed"),
  name: orNull(v.text, "Its name, or the reference of a deployment, as it is now. Null if it has none"),
});

export const Event = shape("Event", {
  id: described(v.text, "The id of the event. It is the same wherever and whenever the event is read"),
  position: described(
    v.positive,
    "Where it is in the order of events, from 1 without gaps. For a token of one workspace, among the events of that workspace",
  ),
  type: described(v.text, "A noun and what happened to it, such as deployment.promoted"),
  createdAt: v.timestamp,
  workspaceId: orNull(v.textAs<WorkspaceId>(), "The workspace of what changed, or null"),
  subject: EventSubject,
  from: orNull(v.positive, "The version before, if the event is about versions"),
  to: orNull(v.positive, "The version now, if the event is about versions"),
  before: orNull(v.anyObject, "The members that changed, with their values before. Null for a creation"),
  after: orNull(v.anyObject, "The members that changed, with their values after. Null for a deletion"),
  source: described(oneOf(...sources), "How the change was made"),
  actor: described(v.text, "The name of the token, or the user of the command line. It may be empty"),
  note: described(v.text, "The reason that was given. It may be empty"),
  origin: orNull(Origin, "The commit of a repository that this came from, or null"),
  path: orNull(
    v.text,
    "Where the console shows what changed, below the address of the console. Null if it has no page",
  ),
});
export type Event = Infer<typeof Event>;

/** Versions in an event: `v1 → v2`, or `v1` for the first one. */
export const versionsText = ({ from, to }: Event): string =>
  [from, to].flatMap((version) => version === null ? [] : `v${version}`).join(" → ");

export const EventList = shape("EventList", {
  items: listOf(Event),
  next: described(
    v.count,
    "What to give as after to go on. It may be ahead of the last item, if others were left out",
  ),
});

export type EventList = Infer<typeof EventList>;

const latest = "latest";
const after = v.matching("a position, or latest", "^([0-9]{1,15}|latest)$");
const wait = v.integerIn(0, 25); // seconds. Many proxies end a request that is silent for 30

export const listEvents = operation({
  id: "listEvents",
  summary: "Read events in their order, and wait for the next ones",
  method: "GET",
  path: "/events",
  command: "events [--after POSITION] [--types TYPES] [--limit N] [--follow]",
  input: {
    workspaceId: option(v.workspaceId, "Only events of this workspace"),
    after: option(
      after,
      "Only events after this position: next of an earlier response, or latest for new events only. Default: all",
    ),
    types: option(typesWanted, "Only these types, as in deployment.*,key.created"),
    limit: v.page.limit,
    wait: option(wait, "How many seconds to wait for an event if there is none yet", { default: 0 }),
  },
  output: EventList,
  isScoped: true,
  seesDeleted: true,
  async run(management, { after = "0", types, limit = 50, wait = 0, workspaceId }) {
    await requireKnown(management, { workspaceId });
    const { caller, waiters, isOver = () => false } = management;
    const wanted = types === undefined ? null : JSON.stringify(actionsOf(types, "types"));
    const newest = await findNewest(management);
    const start = after === latest ? newest : Number(after);
    if (start > newest) throw wrongField("after", `at most ${newest}, the position of the newest event`);
    const request = { wanted, workspaceId: workspaceId ?? null, limit };
    const found = await readEvents(management, { ...request, start, newest });
    if (found.items.length > 0 || wait === 0) return found;
    const owner = ownerOf(caller);
    if (waiters?.take(owner, 1) === false) throw tooManyWaiters();
    try {
      return await poll(management, { ...request, start: found.next }, () => isOver(), wait);
    } finally {
      waiters?.giveBack(owner, 1);
    }
  },
});

/** Reader of events: a caller, or a webhook of one workspace or of all. */
type Reader = Pick<Management, "database"> & { caller: Pick<Management["caller"], "workspaceId"> };

type Request = { start: number; wanted: string | null; workspaceId: WorkspaceId | null; limit: number };

const pageBytes = 512 * 1024; // of entries, of which a webhook gets a page in one argument, in which they may be seven times as long
const pollInterval = 500; // ms. Other processes make events too, so that a look at the database is the only sure sign

async function poll(management: Management, request: Request, isOver: () => boolean, wait: number) {
  let { start } = request, seen: number | undefined;
  for (let looks = wait * 1000 / pollInterval; looks > 0 && !isOver(); looks--) {
    await new Promise((resolve) => setTimeout(resolve, pollInterval));
    // Counting a workspace's events takes time in proportion to their number.
    const head = await findHead(management.database);
    if (head === seen) continue;
    seen = head;
    const newest = await toOwn(management, head);
    if (newest <= start) continue;
    const found = await readEvents(management, { ...request, start, newest });
    if (found.items.length > 0) return found;
    start = found.next;
  }
  return { items: [], next: start };
}

/** Position of the newest event. */
async function findNewest(reader: Reader): Promise<number> {
  const { database, caller } = reader;
  return caller.workspaceId === undefined ? await findHead(database) : await toOwn(reader, Number.MAX_SAFE_INTEGER);
}

/** The position of the newest entry of the whole log. */
export async function findHead(database: Database): Promise<number> {
  return integer((await database.read({ sql: "select position from audit_head where id = 1" }))[0]!, "position");
}

/** Position of the whole log among the reader's events: the number of them up to it. */
async function toOwn({ database, caller: { workspaceId: bound } }: Reader, position: number): Promise<number> {
  if (bound === undefined) return position;
  const sql = "select count(*) as number from audit_log where workspace_id = ? and position <= ?";
  return integer((await database.read({ sql, args: [bound, position] }))[0]!, "number");
}

/** Position in the whole log of an event of the reader. */
async function fromOwn({ database, caller: { workspaceId: bound } }: Reader, number: number): Promise<number> {
  if (bound === undefined) return number;
  const sql = "select position from audit_log where workspace_id = ? order by position limit 1 offset ?";
  return integer((await database.read({ sql, args: [bound, number - 1] }))[0]!, "position");
}

/**
 * The events of the types behind a position of the whole log, as a token of the workspace, or of all, sees them. `next` is up to
 * where in the whole log they were read, and `isLast` says whether that is the end.
 */
export async function readBehind(
  reader: Reader,
  position: number,
  { types, limit }: { types: string | null; limit: number },
): Promise<EventList & { isLast: boolean }> {
  const head = await findHead(reader.database);
  const start = await toOwn(reader, position), newest = await toOwn(reader, head);
  const wanted = types === null ? null : JSON.stringify(actionsOf(types, "types"));
  const { items, next } = await readEvents(reader, { start, newest, wanted, workspaceId: null, limit });
  const isLast = next === newest;
  return { items, next: isLast ? head : await fromOwn(reader, next), isLast };
}

/** A token of one workspace gets its own numbers: a position among all would reveal others' activity. */
const numbered = (isBound: boolean) =>
  isBound
    ? `select *, :start + row_number() over (order by position) as number from (
        select * from audit_log where workspace_id = :bound order by position limit -1 offset :start
      )`
    : "select *, position as number from audit_log where position > :start";

async function readEvents(
  { database, caller: { workspaceId: bound } }: Reader,
  { start, newest, wanted, workspaceId, limit }: Request & { newest: number },
): Promise<EventList> {
  const rows = await database.read({
    sql: `with page as materialized (
        select number, position, octet_length(note) + coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0)
          as bytes
        from (${numbered(bound !== undefined)}) where number <= :newest
          and (:workspaceId is null or workspace_id = :workspaceId)
          and (:wanted is null or action in (select value from json_each(:wanted)))
        order by number limit :limit
      ), summed as (
        select *, row_number() over ordered as nth, sum(bytes) over (ordered rows unbounded preceding) as sum
        from page window ordered as (order by number)
      )
      select e.*, s.number, (select max(nth) from summed) as candidates
      from summed s cross join audit_log e on e.position = s.position
      where s.nth = 1 or s.sum <= ${pageBytes} order by s.number`,
    args: { start, newest, wanted, workspaceId, limit, ...bound === undefined ? {} : { bound } },
  });
  const names = await findNames(database, rows.flatMap((row) => textOrNull(row, "target_id") ?? []));
  const items = await Promise.all(rows.map((row) => toEvent(row, names)));
  const [first] = rows, candidates = first === undefined ? 0 : integer(first, "candidates");
  return { items, next: candidates < limit && rows.length === candidates ? newest : items.at(-1)!.position };
}

/** Current names of things. Deleted ones have no name. */
async function findNames(database: Database, ids: string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await database.read({ sql: titles, args: { ids: JSON.stringify(ids) } });
  return new Map(rows.map((row) => [text(row, "id"), text(row, "name")]));
}

const titles = [...allNouns.values()].flatMap(({ title, tables: [table] }) =>
  title === undefined
    ? []
    : `select id, ${title} as name from ${table!.name} where id in (select value from json_each(:ids))`
).join(" union all ");

async function toEvent(row: Row, names: ReadonlyMap<string, string>): Promise<Event> {
  const { createdAt, action, targetId, workspaceId, source, actor, note, ...entry } = toEntry(row);
  const before = readState(entry.before), after = readState(entry.after);
  const noun = action.slice(0, action.indexOf("."));
  return {
    id: `evt_${(await sha256(`${entry.position} ${text(row, "hash")}`)).slice(0, 32)}`,
    position: integer(row, "number"),
    type: typeOf(action),
    createdAt,
    workspaceId: workspaceId as WorkspaceId | null,
    subject: { noun, id: targetId, name: (names.get(targetId ?? "") ?? nameIn(after) ?? nameIn(before)) || null },
    from: versionIn(before),
    to: versionIn(after),
    before: entry.before === null ? null : withoutHashes(before),
    after: entry.after === null ? null : withoutHashes(after),
    source: source as Source,
    actor,
    note,
    origin: originIn(after),
    path: pathOf(noun, action, targetId, workspaceId),
  };
}

type State = Record<string, unknown>;

const readState = (json: string | null): State => Object.fromEntries(readMembers(json));

/** Hashes of secrets are no use to readers of events, and the origin has its own member. */
const withoutHashes = ({ hash: _, secretHash: _secret, origin: _origin, ...rest }: State): State => rest;

const nameIn = ({ name }: State): string | undefined => typeof name === "string" ? name : undefined;

const versionIn = ({ currentVersion, latestVersion = currentVersion }: State): number | null =>
  typeof latestVersion === "number" ? latestVersion : null;

function pathOf(noun: string, action: string, id: string | null, workspaceId: string | null): string | null {
  if (workspaceId === null) return null;
  const page = action.endsWith(".deleted")
    ? undefined
    : noun === "quota"
    ? "usage"
    : allNouns.get(noun)?.page?.replace(":id", String(id));
  return `${workspaceId}/${page ?? "audit"}`;
}
