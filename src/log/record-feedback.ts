// Reads the feedback on records: with a record in a list, and of one record in pages, with what was replaced or withdrawn.
import type { WorkspaceId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import type { EarlierFeedback, Feedback } from "../schema/feedback.ts";
import { workBytes } from "./documents.ts";

/** The members of a piece (f) under a name (n). */
const members =
  `'name', f.name, 'value', case when n.kind = 'boolean' then json(iif(f.value, 'true', 'false')) else f.value end,
    'comment', f.comment, 'author', f.author, 'source', f.source, 'givenAt', f.given_at`;

/** Bytes of a piece (f): of its texts, and about as many as the rest of its JSON takes. */
const bytesOfPiece =
  "octet_length(f.name) + octet_length(f.author) + octet_length(f.value) + octet_length(f.comment) + 100";

/** A record, by its position in the log, and its workspace. */
type Judged = { position: number; workspaceId: WorkspaceId };

const named = (workspaceId: string): string =>
  `left join feedback_names n on n.workspace_id = ${workspaceId} and n.name = f.name`;

/** The feedback on the record at a position, as a JSON array. */
export const feedbackAt = (position: string, workspaceId: string): string =>
  `(
    select json_group_array(json_object(${members}))
    from feedback f ${named(workspaceId)}
    where f.position = ${position}
  )`;

/** Bytes of the feedback on the record at a position. */
export const feedbackBytesAt = (position: string): string =>
  `coalesce((select sum(${bytesOfPiece}) from feedback f where f.position = ${position}), 0)`;

/** The last piece of a page: one that holds, or an earlier one, which has a number. */
export type FeedbackPlace = [name: string, author: string] | [name: string, author: string, change: number];

export type FeedbackPage = { feedback: Feedback[]; earlier: EarlierFeedback[]; next: FeedbackPlace | null };

/** A table of pieces (f), the columns that no two of a record share, and the members of a piece. */
type Part = { table: string; keys: readonly string[]; members: string };

const holding: Part = { table: "feedback", keys: ["name", "author"], members };
const ended: Part = {
  table: "earlier_feedback",
  keys: ["name", "author", "change"],
  members: `${members}, 'endedAt', f.ended_at`,
};

/**
 * A page of the feedback on a record behind a place: what holds, and then what was replaced or withdrawn, both by name and
 * author, so that the last page costs as much as the first. On a page the earlier pieces are oldest first.
 */
export async function readFeedback(
  database: Database,
  judged: Judged,
  { limit, after = ["", ""] }: { limit: number; after?: FeedbackPlace | undefined },
): Promise<FeedbackPage> {
  const none = { pieces: [], bytes: 0, last: after, hasMore: false };
  const current = after.length === 3
    ? none
    : await readPart<Feedback>(database, judged, holding, after, { pieces: limit, bytes: workBytes });
  const room = { pieces: limit - current.pieces.length, bytes: workBytes - current.bytes };
  if (current.hasMore || room.pieces === 0) return { feedback: current.pieces, earlier: [], next: current.last };
  const start = after.length === 3 ? after : ["", "", 0];
  const past = await readPart<EarlierFeedback>(database, judged, ended, start, room);
  const earlier = past.pieces.sort((one, other) => one.endedAt - other.endedAt);
  return { feedback: current.pieces, earlier, next: past.hasMore ? past.last : null };
}

/** The pieces that were read of a part, their bytes, and the last of them. */
type Read<Piece> = { pieces: Piece[]; bytes: number; last: FeedbackPlace; hasMore: boolean };

/** Reads the pieces of a part behind a place, one at least, and as many as there is room for. */
async function readPart<Piece>(
  database: Database,
  { position, workspaceId }: Judged,
  { table, keys, members }: Part,
  after: readonly (string | number)[],
  room: { pieces: number; bytes: number },
): Promise<Read<Piece>> {
  const columns = keys.join(", "), own = keys.map((key) => `page.${key}`).join(", ");
  const rows = await database.read({
    sql: `
      with page as materialized (
        select ${columns}, row_number() over ordered as nth, sum(bytes) over (ordered rows unbounded preceding) as sum
        from (
          select ${columns}, ${bytesOfPiece} as bytes from ${table} f
          where position = :position and (${columns}) > (${keys.map((key) => `:${key}`).join(", ")})
          order by ${columns} limit :pieces + 1
        ) window ordered as (order by ${columns})
      )
      select ${own}, page.sum, (select count(*) from page) as candidates, json_object(${members}) as piece
      from page cross join ${table} f using (${columns}) ${named(":workspaceId")}
      where f.position = :position and page.nth <= :pieces and (page.nth = 1 or page.sum <= :bytes)
      order by page.nth`,
    args: { position, workspaceId, ...Object.fromEntries(keys.map((key, nth) => [key, after[nth]!])), ...room },
  });
  const last = rows.at(-1);
  return {
    pieces: rows.map((row) => JSON.parse(text(row, "piece"))),
    bytes: last === undefined ? 0 : integer(last, "sum"),
    last: (last === undefined ? after : keys.map((key) => last[key])) as FeedbackPlace,
    hasMore: last !== undefined && integer(last, "candidates") > rows.length,
  };
}

/** The feedback on a record as far as a page shows it, and how much there is in all. */
export type FeedbackDigest = {
  /** All pieces of one author, and the first ones of others. */
  own: Feedback[];
  others: Feedback[];
  pieces: number;
  /** The newest ones, newest first. */
  earlier: EarlierFeedback[];
  earlierPieces: number;
};

/** Reads all feedback of an author on a record, and so many pieces of others and earlier ones. */
export async function readDigest(
  database: Database,
  { position, workspaceId }: Judged,
  most: { author: string; others: number; earlier: number },
): Promise<FeedbackDigest> {
  const list = ({ table, members }: Part, rest: string) =>
    `(
      select json_group_array(json_object(${members}))
      from (select * from ${table} where position = :position ${rest}) f ${named(":workspaceId")}
    )`;
  const count = ({ table }: Part) => `(select count(*) from ${table} where position = :position)`;
  const [row] = await database.read({
    sql: `select
      ${list(holding, "and author = :author")} as own,
      ${list(holding, "and author <> :author order by name, author limit :others")} as others,
      ${count(holding)} as pieces,
      ${list(ended, "order by ended_at desc, change desc, name desc, author desc limit :earlier")} as earlier,
      ${count(ended)} as earlier_pieces`,
    args: { position, workspaceId, ...most },
  });
  const read = <Piece>(column: string): Piece[] => JSON.parse(text(row!, column));
  return {
    ...{ own: read("own"), others: read("others"), pieces: integer(row!, "pieces") },
    ...{ earlier: read("earlier"), earlierPieces: integer(row!, "earlier_pieces") },
  };
}
