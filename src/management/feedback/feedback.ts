// Feedback on records as people who manage a workspace read and give it.
import { wrongField } from "../../common/errors.ts";
import { toHexadecimal } from "../../common/ids.ts";
import type { RecordId, WorkspaceId } from "../../common/ids.ts";
import { parseJson } from "../../common/json-text.ts";
import { giveFeedback, toRefusalOf } from "../../feedback/feedback.ts";
import { targetOf } from "../../feedback/feedback-state.ts";
import type { Piece } from "../../feedback/feedback-state.ts";
import { readDigest, readFeedback } from "../../log/record-feedback.ts";
import type { FeedbackPlace } from "../../log/record-feedback.ts";
import {
  EarlierFeedback,
  Feedback,
  FeedbackAnswer,
  feedbackAuthor,
  feedbackName,
  feedbackValue,
  maxAuthorLength,
  maxFeedbackItems,
  opinion,
  recordReference,
  sourceOr,
  toKept,
} from "../../schema/feedback.ts";
import { described, exactly, listOf, option, optional, orNull, refined, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { operation } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { requirePlace, requireRecord } from "../records/records.ts";
import { fromHexadecimal } from "../kernel/service-secret.ts";

// A place has a name and an author, in hexadecimal digits of UTF-8.
const cursor = v.matching(v.cursorWords, "^([0-9a-f]{2}){4,1000}$", {
  maxLength: 2_000,
  description: "The nextCursor of an earlier response, to go on where it ended",
});
const maxPieces = 1_000;
const limit = v.integerIn(1, maxPieces);

const RecordFeedback = shape("RecordFeedback", {
  feedback: described(listOf(Feedback), "What holds now, by name and author"),
  earlier: described(
    listOf(EarlierFeedback),
    "What was replaced or withdrawn. It follows what holds now, by name and author, and on each page is oldest first",
  ),
  nextCursor: orNull(cursor, "The cursor of the next page, or null on the last page"),
});
export type RecordFeedback = Infer<typeof RecordFeedback>;

export const showFeedback = operation({
  id: "showFeedback",
  summary: "Show the feedback on a record and its history, in pages. A page with long comments is shorter",
  method: "GET",
  path: "/diagnoses/{id}/feedback",
  paged: "all",
  command: "feedback list ID",
  input: {
    id: v.recordId,
    limit: option(limit, "How many pieces to return at most", { default: maxPieces }),
    cursor: optional(cursor),
  },
  output: RecordFeedback,
  refusals: ["gone"],
  async run(management, { id, limit = maxPieces, cursor }) {
    const { position, workspaceId } = await requireRecord(management, id);
    const after = cursor === undefined ? undefined : toPlace(cursor);
    const { next, ...page } = await readFeedback(management.database, { position, workspaceId }, { limit, after });
    return { ...page, nextCursor: next && toCursor(next) };
  },
});

const toCursor = (place: FeedbackPlace): string => toHexadecimal(new TextEncoder().encode(JSON.stringify(place)));

/** The place that a cursor names. Throws if it names none. */
function toPlace(cursor: string): FeedbackPlace {
  const place: unknown = parseJson(new TextDecoder().decode(fromHexadecimal(cursor)));
  const types = Array.isArray(place) ? place.map((member) => typeof member).join() : "";
  if (!["string,string", "string,string,number"].includes(types)) throw wrongField("cursor", v.cursorWords);
  return place as FeedbackPlace;
}

/** The feedback on a record as far as a page of the console shows it. */
export const digestFeedback = operation({
  id: "digestFeedback",
  summary:
    "Show some of the feedback on a record: all of one author, the first of others, and the newest that was replaced",
  method: "GET",
  path: "/diagnoses/{id}/feedback-digest",
  input: { id: v.recordId, author: feedbackAuthor, others: v.count, earlier: v.count },
  output: exactly({
    ...{ own: listOf(Feedback), others: listOf(Feedback), pieces: v.count },
    ...{ earlier: listOf(EarlierFeedback), earlierPieces: v.count },
  }),
  async run(management, { id, ...most }) {
    return await readDigest(management.database, await requireRecord(management, id), most);
  },
});

const author = option(feedbackAuthor, "The author. Default: the name of the token");

export const addFeedback = operation({
  id: "addFeedback",
  summary: "Give feedback on a record, or replace what its author gave under that name",
  method: "POST",
  path: "/diagnoses/{id}/feedback",
  conflicts: true,
  role: "editor",
  command: "feedback add ID NAME VALUE [--comment TEXT] [--author NAME] [--source user|reviewer|program]",
  input: {
    id: v.recordId,
    name: described(feedbackName, "The name of the feedback"),
    ...opinion,
    author,
    source: sourceOr("reviewer"),
  },
  output: FeedbackAnswer,
  run: (management, { id, ...given }) => giveOne(management, id, given),
});

export const removeFeedback = operation({
  id: "removeFeedback",
  summary: "Withdraw feedback on a record. The history keeps it",
  method: "DELETE",
  path: "/diagnoses/{id}/feedback",
  role: "editor",
  command: "feedback remove ID NAME [--author NAME]",
  input: { id: v.recordId, name: described(feedbackName, "What was judged"), author },
  output: FeedbackAnswer,
  run: (management, { id, ...given }) => giveOne(management, id, { ...given, value: null }),
});

type Given = {
  name: string;
  value: Infer<typeof feedbackValue> | null;
  comment?: string | undefined;
  author?: string | undefined;
  source?: Piece["source"] | undefined;
};

/** Author name of a caller's feedback. */
export const authorOf = (name: string): string => [...name].slice(0, maxAuthorLength).join("").toWellFormed();

const toPiece = (
  { caller }: Management,
  workspaceId: WorkspaceId,
  target: Piece["target"],
  { name, value, comment = "", author, source = "reviewer" }: Given,
): Piece => ({
  giver: { workspaceId },
  target,
  name,
  author: author?.toWellFormed() ?? authorOf(caller.actor),
  value: value === null ? undefined : toKept(value),
  comment: comment.toWellFormed(),
  source,
});

async function giveOne(management: Management, id: RecordId, given: Given): Promise<Infer<typeof FeedbackAnswer>> {
  const { database, clock } = management;
  const { workspaceId, position } = await requirePlace(management, id);
  const piece = toPiece(management, workspaceId, { position }, given);
  const { results: [result] } = await giveFeedback(database, [piece], clock());
  if (result!.refusal !== undefined) throw toRefusalOf(result!, { ...piece, target: { recordId: id } });
  const { isChanged, givenAt } = result!;
  return { recordId: id, name: piece.name, author: piece.author, isChanged, givenAt };
}

const FeedbackImport = shape("FeedbackImport", {
  stored: described(v.count, "How many pieces were given or replaced"),
  waiting: described(v.count, "How many of them wait for their records, for two days"),
  unchanged: described(v.count, "How many were there already"),
  refused: described(
    listOf(exactly({ index: described(v.count, "Its place among the pieces, from 0"), error: v.text, code: v.text })),
    "Those that were not stored, and why not",
  ),
});

export const ImportedFeedback = exactly({
  record: described(recordReference, "The record's id, or the Idempotency-Key that it was sent under"),
  name: described(feedbackName, "The name of the feedback"),
  ...opinion,
  source: sourceOr("program"),
});
export type ImportedFeedback = Infer<typeof ImportedFeedback>;

export const importFeedback = operation({
  id: "importFeedback",
  summary: "Give up to 500 pieces of feedback on records of a workspace. Each is stored or refused on its own",
  method: "POST",
  path: "/workspaces/{workspaceId}/feedback",
  role: "editor",
  command: "feedback import FILE [--format ndjson|csv]",
  input: {
    workspaceId: v.workspaceId,
    feedback: refined(
      listOf(ImportedFeedback),
      (items) => items.length >= 1 && items.length <= maxFeedbackItems,
      `an array of 1 to ${maxFeedbackItems} pieces`,
      { minItems: 1, maxItems: maxFeedbackItems },
    ),
  },
  output: FeedbackImport,
  maxBodyBytes: 4 * 1024 * 1024,
  async run(management, { workspaceId, feedback }) {
    const { database, clock } = management;
    const pieces = await Promise.all(
      feedback.map(async ({ record, ...given }) =>
        toPiece(management, workspaceId, await targetOf(record), { source: "program", author: "", ...given })
      ),
    );
    const { results } = await giveFeedback(database, pieces, clock());
    const output: Infer<typeof FeedbackImport> = { stored: 0, waiting: 0, unchanged: 0, refused: [] };
    for (const [index, result] of results.entries()) {
      if (result.refusal === undefined) {
        output[result.isChanged ? "stored" : "unchanged"]++;
        if (result.isChanged && result.recordId === null) output.waiting++;
      } else {
        const { message, code } = toRefusalOf(result, pieces[index]!);
        output.refused.push({ index, error: message, code });
      }
    }
    return output;
  },
});

export const feedbackOperations = [showFeedback, addFeedback, removeFeedback, importFeedback];
