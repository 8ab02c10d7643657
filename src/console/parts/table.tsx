// Tables. On a narrow screen each row becomes a card, in which each value has the label of its column.
/** @jsx h */
import { number } from "../format.tsx";
import { h } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { mostItems } from "../page.ts";

/** A column. `isHead` marks the one that names the row, `isAction` one of buttons, which say what they do. */
export type Column<T> = {
  label: string;
  cell(item: T): Part;
  isNumber?: true;
  isHead?: true;
  isMain?: true;
  isAction?: true;
};

export const table = <T,>(caption: string, items: readonly T[], columns: readonly Column<T>[]): Html => (
  <table>
    <caption class="hide">{caption}</caption>
    <thead>
      <tr>{columns.map(({ label, isNumber }) => <th scope="col" class={isNumber && "number"}>{label}</th>)}</tr>
    </thead>
    <tbody>{items.map((item) => <tr>{columns.map((column) => cellOf(column, item))}</tr>)}</tbody>
  </table>
);

function cellOf<T>({ label, cell, isNumber, isHead, isMain, isAction }: Column<T>, item: T): Html {
  const attributes = {
    class: [isNumber && "number", isMain && "main"].filter((kind) => kind).join(" ") || undefined,
    "data-label": isAction ? "" : label,
  };
  return isHead ? <th scope="row" {...attributes}>{cell(item)}</th> : <td {...attributes}>{cell(item)}</td>;
}

/** Pairs of a label and a value. */
export const facts = (pairs: readonly (readonly [label: string, value: Part] | undefined)[]): Html => (
  <dl class="facts">
    {pairs.map((pair) =>
      pair && (
        <div>
          <dt>{pair[0]}</dt>
          <dd>{pair[1]}</dd>
        </div>
      )
    )}
  </dl>
);

/** The link to the next page of a list, which has older items unless the list begins with the oldest. */
export const pager = (
  next: string | null,
  href: (cursor: string) => string,
  label: "Older" | "Newer" = "Older",
): Part =>
  next !== null && (
    <nav class="pager" aria-label="Pages">
      <a class="button" rel="next" href={href(next)}>{label}</a>
    </nav>
  );

/** Says that a page shows a part of a list that it would show as a whole. `words` say how to find the rest. */
export const partHint = (what: string, words: string): Html => (
  <p class="hint">At most {number(mostItems)} {what} are shown, the newest first. {words}</p>
);
