// Looks up the state before feedback is given, with one query for many pieces.
import { readSlotId } from "../common/ids.ts";
import type { DeploymentId, RecordId, WorkspaceId } from "../common/ids.ts";
import { toSqlJson } from "../common/json-text.ts";
import { getOrAdd } from "../support/maps.ts";
import type { Database } from "../database/database.ts";
import { text } from "../database/row.ts";
import type { FeedbackKind, FeedbackSource } from "../schema/feedback.ts";
import { idAt } from "../ledger/blocks.ts";
import { bytesOf, recordLimits } from "./feedback-state.ts";
import type { Count, Piece, State, StoredValue, Subject, Target, Voice, Workspace } from "./feedback-state.ts";
import { keyLifetime } from "../ledger/idempotency-keys.ts";
import { jsonTable } from "../ledger/statements.ts";
import { countWaiting, isValid } from "./waiting-feedback.ts";

const hexadecimal = (text: string) => `(instr('0123456789abcdef', ${text}) - 1)`;
const slotOf = (id: string) => `16 * ${hexadecimal(`substr(${id}, 30, 1)`)} + ${hexadecimal(`substr(${id}, 31, 1)`)}`;

// The length of a text is read without the text.
const bytes = "octet_length(author) + octet_length(comment) + iif(typeof(value) = 'text', octet_length(value), 0)";
const onKey = `from waiting_feedback
        where t.position is null and workspace_id = g.workspace_id and key = t.record_key and ${isValid("given_at")}`;

/** A JSON array of arrays with these members, of all rows. */
const rowsOf = (...members: string[]): string => `json_group_array(json_array(${members.join(", ")}))`;

// Each list is read once, even if many pieces share an item of it, and is returned as one text, in a fraction of the
// time of rows.
const readSql = `
  with ${jsonTable("giver_given", ["hash", "workspace"], "givers")},
  ${jsonTable("target_given", ["giver", "commit_id", "slot", "record_key", "position"], "targets")},
  ${jsonTable("voice", ["target", "name", "author", "comments"], "voices")},
  giver as materialized (
    select e.ordinal, coalesce(s.id, k.workspace_id) as workspace_id, k.deployment_id as only_deployment,
      coalesce(k.read_only and not k.submit_only, 0) as is_forbidden
    from giver_given e
    left join workspaces s on s.id = e.workspace and s.id not in (select id from deleted_workspaces)
    left join api_key_secrets k on k.hash = e.hash and (k.expires_at is null or k.expires_at > :now)
  ),
  place as materialized (
    select t.ordinal, t.giver, t.record_key, t.commit_id is not null as has_id, coalesce(
      t.position,
      (select m.position + t.slot from commits m where m.id = t.commit_id and m.position + t.slot < m.next_position),
      (
        select m.position + ${slotOf("i.record_id")}
        from giver g
        cross join idempotency_keys i on i.workspace_id = g.workspace_id and i.key = t.record_key
          and i.created_at >= :validSince
        cross join commits m on m.id = substr(i.record_id, 6, 24)
        where t.record_key is not null and g.ordinal = t.giver
      )
    ) as at
    from target_given t
  ),
  target as materialized (
    select p.ordinal, p.giver, p.record_key, p.has_id, p.at is not null as has_arrived, d.position, d.deployment_id
    from place p left join diagnoses d on d.position = p.at
  ),
  said as materialized (
    select v.ordinal, coalesce(f.change, iif(q.value is null, 0, 1)) as change,
      coalesce(f.change, iif(q.value is null, null, 1), (
        select max(change) from earlier_feedback where position = t.position and name = v.name and author = v.author
      ), 0) as last_change,
      coalesce(f.value, q.value) as value, (
        select key from json_each(v.comments) where value = coalesce(f.comment, q.comment)
      ) as nth_comment,
      octet_length(coalesce(f.comment, q.comment)) as comment_bytes,
      coalesce(f.source, q.source) as source, coalesce(f.given_at, q.given_at) as given_at,
      (select count(*) from feedback where position = t.position and name = v.name)
        + (select count(*) ${onKey} and name = v.name) as authors
    from voice v cross join target t on t.ordinal = v.target cross join giver g on g.ordinal = t.giver
    left join feedback f on f.position = t.position and f.name = v.name and f.author = v.author
    left join waiting_feedback q on t.position is null
      and q.workspace_id = g.workspace_id and q.key = t.record_key and q.name = v.name and q.author = v.author
      and ${isValid("q.given_at")}
  )
  select
    (
      select ${
  rowsOf(
    ...["g.ordinal", "g.workspace_id", "g.only_deployment", "g.is_forbidden"],
    "(select count(*) from feedback_names where workspace_id = g.workspace_id)",
    "exists (select 1 from feedback_names where workspace_id = g.workspace_id and is_declared)",
    `iif(
          exists (select 1 from target where giver = g.ordinal and position is null and record_key is not null),
          ${countWaiting("g.workspace_id")},
          0
        )`,
  )
} from giver g
    ) as givers,
    (
      select ${rowsOf("g.ordinal", "n.name", "n.kind", "n.is_declared", "n.minimum", "n.maximum", "json(n.labels)")}
      from json_each(:names) e cross join giver g on g.ordinal = e.value ->> 0
      cross join feedback_names n on n.workspace_id = g.workspace_id and n.name = e.value ->> 1
    ) as names,
    (
      select ${
  rowsOf(
    ...["t.ordinal", "t.has_arrived", "t.position"],
    `iif(t.has_id, null, (
          select ${
      idAt("diag", "t.position")
    } from commits m where m.position <= t.position order by m.position desc limit 1
        ))`,
    "t.deployment_id",
    // A caller without a workspace, such as one whose key has just expired, owns no records.
    `t.position is null or coalesce(
          g.workspace_id = (select workspace_id from calls where position <= t.position order by position desc limit 1)
            and (g.only_deployment is null or g.only_deployment = t.deployment_id),
          0
        )`,
    "coalesce((select changes from feedback_histories where position = t.position), 0)",
    `(
          select json_array(count(distinct name), count(*), coalesce(sum(bytes), 0), coalesce(sum(places), 0)) from (
            select name, ${bytes} as bytes, 0 as places from feedback where position = t.position
            union all select name, ${bytes}, places ${onKey} limit :maxPieces
          )
        )`,
  )
} from target t cross join giver g on g.ordinal = t.giver
    ) as targets,
    (
      select ${
  rowsOf(
    ...["ordinal", "authors", "last_change", "change", "value", "nth_comment", "source", "given_at"],
    "comment_bytes",
  )
} from said where authors > 0 or last_change > 0
    ) as voices`;

/** Distinct items in order of first use. `placeOf` returns the place of one by its key. */
function createList<Item>() {
  const places = new Map<string, number>(), items: Item[] = [];
  return {
    items,
    placeOf(key: string, make: () => Item): number {
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, items.length);
      return items.push(make()) - 1;
    },
  };
}

function toRow(target: Target): unknown[] {
  if ("position" in target) return [null, null, null, target.position];
  if ("recordKey" in target) return [null, null, target.recordKey, null];
  const { commitId, slot } = readSlotId("diag", target.recordId) ?? {};
  return [commitId, slot, null, null];
}

const nothingSaid: Rows["voices"][number] = [0, 0, 0, 0, null, null, "user", 0, null];

/** The key of a target. Ids, hashes and positions differ in their form. */
const keyOf = (target: Target): string => String(Object.values(target)[0]);

/** The places of a piece's giver, target and voice in the lists that are read. */
type Place = { nthGiver: number; nthTarget: number; nthVoice: number };

/** Reads the state before each piece, in their order. */
export async function readStates(database: Database, pieces: Piece[], now: number): Promise<State[]> {
  const givers = createList<unknown[]>(), names = createList<unknown[]>();
  const targets = createList<unknown[]>(), voices = createList<[number, string, string, comments: string[]]>();
  const places = pieces.map(({ giver, target, name, author, comment }): Place => {
    const nthGiver = "keyHash" in giver
      ? givers.placeOf(giver.keyHash, () => [giver.keyHash, null])
      : givers.placeOf(giver.workspaceId, () => [null, giver.workspaceId]);
    names.placeOf(`${nthGiver} ${name}`, () => [nthGiver, name]);
    const nthTarget = targets.placeOf(`${nthGiver} ${keyOf(target)}`, () => [nthGiver, ...toRow(target)]);
    const nthVoice = voices.placeOf(`${nthTarget} ${name} ${author}`, () => [nthTarget, name, author, []]);
    // The query only compares comments: stored ones may be as long for each piece, and a server's response has a limit.
    const [, , , comments] = voices.items[nthVoice]!;
    if (!comments.includes(comment)) comments.push(comment);
    return { nthGiver, nthTarget, nthVoice };
  });
  const lists = { givers, names, targets, voices };
  const texts = Object.entries(lists).map(([name, { items }]) => [name, toSqlJson(items)] as const);
  const maxPieces = recordLimits.pieces;
  const args = { ...Object.fromEntries(texts), now, validSince: now - keyLifetime, maxPieces };
  const [row] = await database.read({ sql: readSql, args });
  const read = <Item>(list: keyof typeof lists): Item[] => JSON.parse(text(row!, list));
  return toStates(pieces, places, {
    givers: read("givers"),
    names: read("names"),
    targets: read("targets"),
    voices: read("voices"),
  }, voices.items.map(([, , , comments]) => comments));
}

/** Result of the query, each row with its place in its list. Names and voices without stored feedback are missing. */
type Rows = {
  givers: [number, WorkspaceId | null, DeploymentId | null, isForbidden: 0 | 1, number, hasDeclared: 0 | 1, number][];
  names: [nthGiver: number, string, FeedbackKind, isDeclared: 0 | 1, number | null, number | null, string[] | null][];
  targets: [
    ...[nth: number, hasArrived: 0 | 1, position: number | null, RecordId | null, DeploymentId | null, isOwn: 0 | 1],
    ...[changes: number, stored: [names: number, pieces: number, bytes: number, waiting: number]],
  ][];
  voices: [
    ...[nth: number, authors: number, lastChange: number, change: number, StoredValue | null],
    ...[nthComment: number | null, FeedbackSource, givenAt: number, commentBytes: number | null],
  ][];
};

/** Puts together what there is before each piece. What several pieces share is one object, however they name it. */
function toStates(pieces: Piece[], places: Place[], rows: Rows, comments: string[][]): State[] {
  const workspaces = new Map<string, Workspace>(), subjects = new Map<string, Subject>();
  const counts = new Map<string, Count>(), voices = new Map<string, Voice>();
  const givers = new Map(rows.givers.map(([nth, id, onlyDeployId, isForbidden, names, hasDeclared, waiting]) => {
    const workspace = id === null ? null : getOrAdd<string, Workspace>(workspaces, id, () => ({
      ...{ id, rules: new Map(), newNames: new Set(), hasDeclared: hasDeclared === 1, names, waiting },
    }));
    // They are counted only for a giver with a record that has not arrived.
    if (workspace !== null) workspace.waiting = Math.max(workspace.waiting, waiting);
    return [nth, { workspace, onlyDeployId, isForbidden: isForbidden === 1 }];
  }));
  for (const [nthGiver, name, kind, isDeclared, minimum, maximum, labels] of rows.names) {
    givers.get(nthGiver)!.workspace!.rules.set(name, { kind, isDeclared: isDeclared === 1, minimum, maximum, labels });
  }
  const targets = new Map(rows.targets.map((row) => [row[0], row]));
  const said = new Map(rows.voices.map((row) => [row[0], row]));
  return places.map(({ nthGiver, nthTarget, nthVoice }, nth): State => {
    const { target, name, author } = pieces[nth]!;
    const { workspace, onlyDeployId, isForbidden } = givers.get(nthGiver)!;
    const [, hasArrived, position, recordId, deployId, isOwn, changes, stored] = targets.get(nthTarget)!;
    const [names, count, bytes, waiting] = stored;
    const [, authors, lastChange, change, ...what] = said.get(nthVoice) ?? nothingSaid;
    const [value, nthComment, source, givenAt, commentBytes] = what;
    const place = position === null ? `${workspace?.id} ${keyOf(target)}` : String(position);
    const subject = getOrAdd(subjects, place, () => ({
      position,
      recordKey: position === null && "recordKey" in target ? target.recordKey : null,
      names: { stored: names, decided: names },
      pieces: { stored: count, decided: count },
      ...{ bytes, changes, waiting },
    }));
    const voice = getOrAdd(voices, `${place} ${name} ${author}`, (): Voice => {
      const current = value === null ? undefined : {
        ...{ value, comment: undefined, source, givenAt, change },
        bytes: bytesOf({ author, value }) + commentBytes!,
      };
      return { name, author, current, lastChange, stored: current?.change ?? 0, ended: [] };
    });
    // Each look-up of a voice knows the comments of other pieces.
    if (nthComment !== null) voice.current!.comment = comments[nthVoice]![nthComment];
    return {
      ...{ workspace, onlyDeployId, isForbidden, deployId, subject },
      recordId: "recordId" in target && position !== null ? target.recordId : recordId,
      hasArrived: hasArrived === 1,
      isOwn: isOwn === 1,
      authors: getOrAdd(counts, `${place} ${name}`, () => ({ stored: authors, decided: authors })),
      voice,
    };
  });
}
