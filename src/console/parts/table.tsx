// Tables. On a narrow screen each row becomes a card, in which each value has the label of its column.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { number } from "../format.tsx";
import { h } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { mostItems } from "../page.ts";

/** A column. `isHead` marks the one that names the row, `isAction` one of buttons, which say what they do. */
export type Column<T> = {
  label: string;
  cell(row: T): Part;
  isNumber?: true;
  isHead?: true;
  isMain?: true;
  isAction?: true;
};

type TableProps<T> = { caption: string; rows: readonly T[]; columns: readonly Column<T>[] };

/** A row for each of `rows`. The caption is for who cannot see the table. */
export const Table = <T,>({ caption, rows, columns }: TableProps<T>): Html => (
  <table>
    <caption class="hide">{caption}</caption>
    <thead>
      <tr>{columns.map(({ label, isNumber }) => <th scope="col" class={isNumber && "number"}>{label}</th>)}</tr>
    </thead>
    <tbody>{rows.map((row) => <tr>{columns.map((column) => cellOf(column, row))}</tr>)}</tbody>
  </table>
);

function cellOf<T>({ label, cell, isNumber, isHead, isMain, isAction }: Column<T>, row: T): Html {
  const attributes = {
    class: [isNumber && "number", isMain && "main"].filter((kind) => kind).join(" ") || undefined,
    "data-label": isAction ? "" : label,
  };
  return isHead ? <th scope="row" {...attributes}>{cell(row)}</th> : <td {...attributes}>{cell(row)}</td>;
}

/** Pairs of a label and a value. */
export const Facts = ({ children }: { children?: Part }): Html => <dl class="facts">{children}</dl>;

export const Fact = ({ label, children }: { label: string; children?: Part }): Html => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);

type PagerProps = { next: string | null; href(cursor: string): string; label?: "Older" | "Newer" };

/** The link to the next page of a list, which has older items unless the list begins with the oldest. */
export const Pager = ({ next, href, label = "Older" }: PagerProps): Part =>
  next !== null && (
    <nav class="pager" aria-label="Pages">
      <a class="button" rel="next" href={href(next)}>{label}</a>
    </nav>
  );

/** Says that a page shows a part of a list that it would show as a whole, and how to find the rest. */
export const PartHint = ({ of, children }: { of: string; children?: Part }): Html => (
  <p class="hint">At most {number(mostItems)} {of} are shown, the newest first. {children}</p>
);
