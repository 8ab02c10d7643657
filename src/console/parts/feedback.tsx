// The feedback on a record: what was said, by whom, and forms to say it. Comments, labels, names and authors are texts of
// strangers, of which a page shows a part.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { addFeedback } from "../../management/feedback.ts";
import type { EarlierFeedback, Feedback, FeedbackValue } from "../../schema/feedback.ts";
import { assetPath } from "../asset-paths.ts";
import { feedbackNotices, reviewerOf } from "../feedback.ts";
import type { FeedbackOnRecord } from "../feedback.ts";
import { ago, counted, dash } from "../format.tsx";
import { Fragment, h, isolated } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { findLack } from "../page.ts";
import type { Visit } from "../page.ts";
import { Chip } from "./chips.tsx";
import { FeedbackForms } from "./feedback-forms.tsx";
import { Guarded, HiddenField } from "./form.tsx";
import { Section } from "./heading.tsx";
import { doneNotice } from "./notice.tsx";
import { Table } from "./table.tsx";
import type { Column } from "./table.tsx";

const mostPieces = 20, mostEarlier = 10; // rows
const mostCommentText = 4_000; // characters in all rows of a table

/** A value in words: `yes`, `0.5`, or a label. */
export const valueText = (value: FeedbackValue): string =>
  typeof value === "boolean" ? (value ? "yes" : "no") : String(value);

/**
 * What was said about a record and forms to say more, with the keys that lead to them. The forms are sent to the page, which
 * hands them to `changeFeedback`. `whole` leads to what is cut.
 */
export function FeedbackSection(
  { visit, feedback, whole }: { visit: Visit; feedback: FeedbackOnRecord; whole: Part },
): Html {
  const { pieces, earlier } = feedback, reviewer = reviewerOf(visit);
  const isOwn = ({ author }: Feedback) => author === reviewer;
  const ordered = [...pieces.filter(isOwn), ...pieces.filter((piece) => !isOwn(piece))];
  return (
    <div id="feedback">
      <link rel="stylesheet" href={visit.root + assetPath("feedback.css")} />
      <Section title="Feedback">
        {doneNotice(visit, feedbackNotices)}
        {pieces.length > 0
          ? (
            <Pieces
              caption="Feedback"
              {...{ visit, whole, pieces: ordered, most: mostPieces }}
              columns={findLack(visit, addFeedback) === undefined
                ? [{ label: "Withdraw", isAction: true, cell: (piece) => isOwn(piece) && withdrawal(piece) }]
                : []}
            />
          )
          : <p class="hint">Nobody has said anything about this record yet.</p>}
        <Guarded visit={visit} operation={addFeedback}>
          <FeedbackForms visit={visit} feedback={feedback} />
        </Guarded>
        {earlier.length > 0 && (
          <details>
            <summary>Replaced or withdrawn: {counted(earlier.length, "piece")}</summary>
            <Pieces
              caption="Earlier feedback"
              {...{ visit, whole, pieces: [...earlier].reverse(), most: mostEarlier }}
              columns={[{ label: "Until", isEvident: true, cell: ({ endedAt }) => ago(endedAt, visit.now) }]}
            />
          </details>
        )}
      </Section>
      <script src={visit.root + assetPath("feedback.js")} defer></script>
    </div>
  );
}

type PiecesProps<T> = {
  visit: Visit;
  caption: string;
  pieces: readonly T[];
  most: number;
  columns: readonly Column<T>[];
  whole: Part;
};

/** Some pieces of feedback as a table. They share the room for comments. */
function Pieces<T extends Feedback | EarlierFeedback>(
  { visit, caption, pieces, most, columns, whole }: PiecesProps<T>,
): Html {
  const rows = pieces.slice(0, most), commented = rows.filter(({ comment }) => comment !== "").length;
  const room = Math.floor(mostCommentText / commented);
  const isCut = rows.some(({ comment }) => comment.length > room);
  return (
    <>
      <Table
        caption={caption}
        rows={rows}
        columns={[
          { label: "Name", isHead: true, cell: ({ name }) => isolated(name) },
          { label: "Value", isEvident: true, cell: ({ value }) => <Chip>{isolated(valueText(value))}</Chip> },
          { label: "Author", cell: ({ author }) => author === "" ? dash : isolated(author) },
          { label: "Source", cell: ({ source }) => source },
          { label: "Comment", isMain: true, cell: ({ comment }) => commentOf(comment, room) },
          { label: "Given", isEvident: true, cell: ({ givenAt }) => ago(givenAt, visit.now) },
          ...columns,
        ]}
      />
      {rows.length < pieces.length && (
        <p class="hint">{counted(pieces.length - rows.length, "more piece")} not shown. {whole}</p>
      )}
      {isCut && rows.length === pieces.length && <p class="hint">Long comments are cut. {whole}</p>}
    </>
  );
}

const commentOf = (text: string, most: number): Part =>
  text === "" ? dash : <span class="comment" dir="auto">{text.slice(0, most)}{text.length > most && "…"}</span>;

const withdrawal = ({ name }: Feedback): Html => (
  <form method="post">
    <HiddenField name="do" value="withdraw" />
    <HiddenField name="name" value={name} />
    <button class="small" aria-label={`Withdraw ${name}`}>Withdraw</button>
  </form>
);

const mostChips = 5;

/** The feedback on a record in a list: `thumb yes`. Nothing if there is none. */
export const FeedbackChips = ({ pieces }: { pieces: readonly Feedback[] }): Part =>
  pieces.length > 0 && (
    <span class="chips">
      {pieces.slice(0, mostChips).map(({ name, value }) => (
        <Chip>
          {isolated(name)} <b>{isolated(valueText(value).slice(0, maxChip))}</b>
        </Chip>
      ))}
      {pieces.length > mostChips && <Chip>{`+${pieces.length - mostChips}`}</Chip>}
    </span>
  );

const maxChip = 30; // characters
