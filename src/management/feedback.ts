// Feedback on records as people who manage a workspace read and give it.
import type { RecordId, WorkspaceId } from "../common/ids.ts";
import { text } from "../database/row.ts";
import { giveFeedback, toRefusalOf } from "../ledger/feedback.ts";
import { feedbackOnRecord, targetOf } from "../ledger/feedback-state.ts";
import type { Piece } from "../ledger/feedback-state.ts";
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
} from "../schema/feedback.ts";
import { described, exactly, listOf, option, refined, shape } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { operation } from "./operation.ts";
import type { Management } from "./operation.ts";
import { requirePlace, requireRecord } from "./records.ts";

const RecordFeedback = shape("RecordFeedback", {
  feedback: described(listOf(Feedback), "What holds now, by name and author"),
  earlier: described(listOf(EarlierFeedback), "What was replaced or withdrawn, oldest first"),
});

export const showFeedback = operation({
  id: "showFeedback",
  summary: "Show the feedback on a record, and what was said before",
  method: "GET",
  path: "/diagnoses/{id}/feedback",
  command: "feedback list ID",
  input: { id: v.recordId },
  output: RecordFeedback,
  refusals: ["gone"],
  async run(management, { id }) {
    const { position, workspaceId } = await requireRecord(management, id);
    const [row] = await management.database.read({ sql: feedbackOnRecord, args: { position, workspaceId } });
    return { feedback: JSON.parse(text(row!, "feedback")), earlier: JSON.parse(text(row!, "earlier")) };
  },
});

const author = option(feedbackAuthor, "Who thinks so. Default: the name of the token");

export const addFeedback = operation({
  id: "addFeedback",
  summary: "Give feedback on a record, or replace what its author gave under that name",
  method: "POST",
  path: "/diagnoses/{id}/feedback",
  role: "editor",
  command: "feedback add ID NAME VALUE [--comment TEXT] [--author NAME] [--source user|reviewer|program]",
  input: {
    id: v.recordId,
    name: described(feedbackName, "What is judged"),
    ...opinion,
    author,
    source: sourceOr("reviewer"),
  },
  output: FeedbackAnswer,
  refusals: ["conflict"],
  run: (management, { id, ...given }) => giveOne(management, id, given),
});

export const removeFeedback = operation({
  id: "removeFeedback",
  summary: "Withdraw feedback on a record. What was said stays in its history",
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

/** The name under which a caller judges. */
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
  name: described(feedbackName, "What is judged"),
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
