// The names and labels of feedback by their numbers in feedback_words, by which scans and statistics know them.
import type { WorkspaceId } from "../common/ids.ts";
import { toSqlJson } from "../common/json-text.ts";
import type { Database } from "../database/database.ts";
import { integer, text, textOrNull } from "../database/row.ts";
import type { FeedbackKind } from "../schema/feedback.ts";

/** Names of feedback with the kinds of their values, by number. */
export type FeedbackNames = ReadonlyMap<number, { name: string; kind: FeedbackKind }>;

/** Reads the names under which a workspace has feedback: all, or some of them. */
export async function readNames(
  database: Database,
  workspaceId: WorkspaceId,
  only?: readonly string[],
): Promise<FeedbackNames> {
  const rows = await database.read({
    sql: `select w.id, n.name, n.kind from feedback_names n cross join feedback_words w on w.word = n.name
      where n.workspace_id = :workspaceId and (:only is null or n.name in (select value from json_each(:only)))`,
    args: { workspaceId, only: only === undefined ? null : JSON.stringify(only) },
  });
  return new Map(rows.map((row) => [integer(row, "id"), {
    name: text(row, "name"),
    kind: text<FeedbackKind>(row, "kind"),
  }]));
}

/** A word in use. `kind` is that of the workspace's values under it, or null if the workspace has no such name. */
export type Word = { id: number; kind: FeedbackKind | null };

/** Looks up words. Those that are not in use are missing. */
export async function findWords(
  database: Database,
  workspaceId: WorkspaceId,
  words: readonly string[],
): Promise<Map<string, Word>> {
  if (words.length === 0) return new Map();
  const rows = await database.read({
    sql: `select w.id, w.word, n.kind from feedback_words w
      left join feedback_names n on n.workspace_id = :workspaceId and n.name = w.word
      where w.word in (select value from json_each(:words))`,
    args: { workspaceId, words: toSqlJson(words) },
  });
  return new Map(rows.map((row) => [text(row, "word"), {
    id: integer(row, "id"),
    kind: textOrNull(row, "kind") as FeedbackKind | null,
  }]));
}

/** The text of a label. Undefined if no feedback has it any more. */
export type TextOf = (id: number) => string | undefined;

/** The labels of an answer, whose texts are read once all of it has been counted. */
export type Labels = {
  /** Calls `use` once the texts of labels are known, which shows some of them, unless there are too long ones before them. */
  request(ids: readonly number[], shown: number, use: (textOf: TextOf) => void): void;
  /** Reads the texts. */
  read(database: Database): Promise<void>;
};

const pageWords = 500; // which one query reads: some 400 kB of the longest labels
const maxLength = 300_000; // characters of labels that one answer shows

export function createLabels(): Labels {
  const requests: { ids: readonly number[]; shown: number; use: (textOf: TextOf) => void }[] = [];
  return {
    request: (ids, shown, use) => void requests.push({ ids, shown, use }),
    async read(database) {
      const texts = new Map<number, string | undefined>();
      let length = 0;
      for (let next = 0, end = 0; next < requests.length && length < maxLength;) {
        const missing = new Set<number>();
        while (end < requests.length && missing.size < pageWords) {
          for (const id of requests[end++]!.ids) if (!texts.has(id)) missing.add(id);
        }
        for (const id of missing) texts.set(id, undefined);
        if (missing.size > 0) await addTexts(database, texts, [...missing]);
        for (; next < end && length < maxLength; next++) {
          const { ids, shown, use } = requests[next]!;
          for (const id of ids.slice(0, shown)) length += texts.get(id)?.length ?? 0;
          use((id) => texts.get(id));
        }
      }
    },
  };
}

async function addTexts(database: Database, texts: Map<number, string | undefined>, ids: number[]): Promise<void> {
  const rows = await database.read({
    sql: "select w.id, w.word from json_each(?) e cross join feedback_words w on w.id = e.value",
    args: [JSON.stringify(ids)],
  });
  for (const row of rows) texts.set(integer(row, "id"), text(row, "word"));
}
