// Feedback of some authors under one name, as scans of the log read it with a slice.
import { getOrAdd } from "../support/maps.ts";
import type { Row } from "../database/database.ts";
import { textOrNull } from "../database/row.ts";

/** The authors whose feedback under a name to read. */
export type VoiceReads = { name: string; authors: readonly string[] };

/** Values in the order of the authors to read: a number, 0 or 1 for a boolean, or the number of a label. */
export type Voices = readonly (number | undefined)[];

export const noVoices: Voices = [];

/** Join for the statement of a slice. `records` joins its records (r), and `conditions` choose them. */
export function voicesOfSlice(reads: VoiceReads | undefined, records: string, conditions: string) {
  if (reads === undefined) return { sql: "", args: {} };
  const sql = ` cross join (
    select group_concat(place) as voices, group_concat(author) as authors, group_concat(value) as opinions
    from (
      select r.position - :first as place, a.key as author,
        iif(typeof(f.value) = 'text', (select id from feedback_words where word = f.value), f.value) as value
      from ${records} cross join json_each(:authors) a
        cross join feedback f on f.position = r.position and f.name = :judged and f.author = a.value
      where ${conditions}
    )
  )`;
  return { sql, args: { judged: reads.name, authors: JSON.stringify(reads.authors) } };
}

/** Finds what the authors gave on the record at an offset. */
export function readVoices(row: Row, reads: VoiceReads | undefined): (offset: number) => Voices {
  if (reads === undefined) return () => noVoices;
  const read = (list: string): number[] => JSON.parse(`[${textOrNull(row, list) ?? ""}]`);
  const authors = read("authors"), values = read("opinions");
  const voicesAt = new Map<number, (number | undefined)[]>();
  for (const [nth, offset] of read("voices").entries()) {
    getOrAdd(voicesAt, offset, () => [])[authors[nth]!] = values[nth]!;
  }
  return (offset) => voicesAt.get(offset) ?? noVoices;
}
