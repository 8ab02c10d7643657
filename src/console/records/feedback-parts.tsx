// Feedback on a record, its authors, and forms to give it. Comments, labels, names and authors are texts of strangers,
// so a page limits their length.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { addFeedback } from "../../management/feedback/feedback.ts";
import type { EarlierFeedback, Feedback, FeedbackValue } from "../../schema/feedback.ts";
import { assetPath } from "../frame/addresses.ts";
import { feedbackNotices, keptQuery, mostPieces } from "./feedback.ts";
import type { FeedbackOnRecord } from "./feedback.ts";
import { ago, counted, dash, excerpt } from "../frame/format.tsx";
import { Fragment, h, isolated, toHtml } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { missingRole } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { Chip } from "../frame/chips.tsx";
import { FeedbackForms, namesOfForms } from "./feedback-forms.tsx";
import { Guarded, HiddenField } from "../frame/form.tsx";
import { doneNotice, Section, Table } from "../frame/elements.tsx";
import type { Column } from "../frame/elements.tsx";

const mostOfComments = 2_500; // characters of HTML in all rows of a table

/** A value in words: `yes`, `0.5`, or a label. */
const valueText = (value: FeedbackValue): string => typeof value === "boolean" ? (value ? "yes" : "no") : String(value);

/**
 * Feedback on a record and forms to give more, with the keys that lead to them. The forms are sent to the page, which
 * hands them to `changeFeedback`. `whole` links to the uncut feedback.
 */
export function FeedbackSection(
  { visit, feedback, whole }: { visit: ConsoleRequest; feedback: FeedbackOnRecord; whole: Part },
): Html {
  const { own, others, pieces, earlier, earlierPieces } = feedback, forms = namesOfForms(visit, feedback);
  const yours = (piece: Feedback) =>
    own.includes(piece) && <Own visit={visit} piece={piece} hasForm={forms.some(({ name }) => name === piece.name)} />;
  return (
    <div id="feedback">
      <link rel="stylesheet" href={visit.root + assetPath("feedback.css")} />
      <Section title="Feedback">
        {visit.refusal === undefined && doneNotice(visit, feedbackNotices)}
        {pieces > 0
          ? (
            <Pieces
              caption="Feedback"
              {...{ visit, whole, all: pieces, pieces: [...own, ...others].slice(0, mostPieces) }}
              column={missingRole(visit, addFeedback) === undefined && { label: "Yours", isAction: true, cell: yours }}
            />
          )
          : <p class="hint">Nobody has said anything about this record yet.</p>}
        <Guarded visit={visit} operation={addFeedback}>
          <FeedbackForms visit={visit} feedback={feedback} shown={forms} />
        </Guarded>
        {earlierPieces > 0 && (
          <details>
            <summary>Replaced or withdrawn: {counted(earlierPieces, "piece")}</summary>
            <Pieces
              caption="Earlier feedback"
              {...{ visit, whole, all: earlierPieces, pieces: earlier }}
              column={{ label: "Until", isEvident: true, cell: ({ endedAt }) => ago(endedAt, visit.now) }}
            />
          </details>
        )}
      </Section>
      <script src={visit.root + assetPath("feedback.js")} defer></script>
    </div>
  );
}

type PiecesProps<T> = {
  visit: ConsoleRequest;
  caption: string;
  pieces: readonly T[];
  /** Their number, of which the table has the first. */
  all: number;
  column: Column<T> | false;
  whole: Part;
};

/** Some pieces of feedback as a table. They share the room for comments. */
function Pieces<T extends Feedback | EarlierFeedback>(
  { visit, caption, pieces: rows, all, column, whole }: PiecesProps<T>,
): Html {
  const commented = rows.filter(({ comment }) => comment !== "");
  const room = Math.floor(mostOfComments / commented.length);
  const isCut = commented.some(({ comment }) => fitting(comment, room) !== comment);
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
          column,
        ]}
      />
      {rows.length < all && <p class="hint">{counted(all - rows.length, "more piece")} not shown. {whole}</p>}
      {isCut && rows.length === all && <p class="hint">Long comments are cut. {whole}</p>}
    </>
  );
}

/** Beginning of a text that takes at most `most` characters of HTML. */
function fitting(text: string, most: number): string {
  let part = text.slice(0, most);
  for (let length = toHtml(part).length; length > most; length = toHtml(part).length) {
    part = part.slice(0, Math.floor(part.length * most / length));
  }
  return part;
}

function commentOf(text: string, most: number): Part {
  if (text === "") return undefined;
  const part = fitting(text, most);
  return <span class="comment" dir="auto">{part}{part !== text && "…"}</span>;
}

type OwnProps = { visit: ConsoleRequest; piece: Feedback; hasForm: boolean };

/** Actions on a person's own feedback. If it has no form here, a link leads to the page that has one. */
const Own = ({ visit, piece: { name }, hasForm }: OwnProps): Html => (
  <div class="actions">
    {!hasForm && <a href={`?${new URLSearchParams({ ...keptQuery(visit), rate: name })}#value-${name}`}>Change</a>}
    <form method="post">
      <HiddenField name="do" value="withdraw" />
      <HiddenField name="name" value={name} />
      <button class="small" aria-label={`Withdraw ${name}`}>Withdraw</button>
    </form>
  </div>
);

const maxChip = 30; // characters

/** A piece in a row of a list: `thumb yes`. */
export const pieceText = ({ name, value }: Feedback): string => `${name} ${valueText(value)}`;

/** Feedback on a record, at most `most` pieces: `thumb yes`. Empty without any. */
export const FeedbackChips = ({ pieces, most }: { pieces: readonly Feedback[]; most: number }): Part =>
  pieces.length > 0 && (
    <span class="chips">
      {pieces.slice(0, most).map(({ name, value }) => (
        <Chip>
          {isolated(name)} <b>{excerpt(valueText(value), maxChip)}</b>
        </Chip>
      ))}
      {pieces.length > most && <span class="hint">{counted(pieces.length - most, "more", "more")}</span>}
    </span>
  );
