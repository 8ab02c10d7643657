// Elements of pages: headings, sections, notices, tables and facts. On a narrow screen each row of a table becomes a
// card, in which each value has the label of its column.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { excerpt, number } from "./format.tsx";
import { h } from "./html.ts";
import type { Html, Part } from "./html.ts";
import { link, mostItems, queryOf, queryValue, queryWord } from "./page.ts";
import type { ConsoleRequest } from "./page.ts";
import type { Chart } from "./chart.tsx";

type HeadingProps = { title: Part; lede?: Part; trail?: readonly { label: Part; href: string }[]; actions?: Part };

export const Heading = ({ title, lede, trail = [], actions }: HeadingProps): Html => (
  <header class="heading">
    {trail.length > 0 && (
      <nav class="trail" aria-label="Breadcrumb">
        <ol>
          {trail.map(({ label, href }) => (
            <li>
              <a href={href}>{label}</a>
            </li>
          ))}
        </ol>
      </nav>
    )}
    <div class="line">
      <h1>{title}</h1>
      {actions && <div class="actions">{actions}</div>}
    </div>
    {lede && <p class="lede">{lede}</p>}
  </header>
);

/** A part of a page under a title of its own. */
export const Section = ({ title, aside, children }: { title: string; aside?: Part; children?: Part }): Html => (
  <section>
    <div class="line">
      <h2>{title}</h2>
      {aside && <div class="aside">{aside}</div>}
    </div>
    {children}
  </section>
);

const words = { done: "Done", info: "Note", warning: "Warning", error: "Error" } as const;

type NoticeProps = { kind: keyof typeof words; children?: Part };

export const Notice = ({ kind, children }: NoticeProps): Html => (
  <div class={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
    <p>
      <strong>{words[kind]}</strong> {children}
    </p>
  </div>
);

/** Notice of the change that led to this page. `texts` has a text for each word that the query may have. */
export function doneNotice(visit: ConsoleRequest, texts: Readonly<Record<string, Part>>): Part {
  const done = queryWord(visit, "done", Object.keys(texts));
  return done !== undefined && <Notice kind="done">{texts[done]}</Notice>;
}

/** Replaces an empty list: what belongs there, and the next step. */
export const Empty = ({ title, children }: { title: string; children?: Part }): Html => (
  <div class="empty">
    <p class="title">{title}</p>
    <p>{children}</p>
  </div>
);

/**
 * A column. `isHead` marks the one that names the row, `isMain` one of longer texts, `isWhole` one that never wraps,
 * `isAction` one of buttons, and `isEvident` one of other values that need no label where rows are cards. A dense table
 * cuts the texts of `isMain` columns.
 */
export type Column<T> = {
  label: string;
  cell(row: T): Part;
  isNumber?: true;
  isHead?: true;
  isMain?: true;
  isWhole?: true;
  isAction?: true;
  isEvident?: true;
};

type TableProps<T> = {
  caption: string;
  rows: readonly T[];
  /** Columns that are false are omitted. */
  columns: readonly (Column<T> | false)[];
  /** A row has one line, all of which leads where the link of its head does. */
  isDense?: boolean;
  /** Its columns are figures to compare, so that it stays a table on a narrow screen too, and scrolls there. */
  isCompared?: boolean;
};

/** A row for each of `rows`. The caption is for screen readers. */
export function Table<T>({ caption, rows, columns: all, isDense, isCompared }: TableProps<T>): Html {
  const columns = all.filter((column) => column !== false);
  const table = (
    <table class={isDense && "dense"}>
      <caption class="hide">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ label, isNumber }) => <th scope="col" class={isNumber && !isCompared && "number"}>{label}
          </th>)}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => <tr>{columns.map((column) => cellOf(column, row, isCompared))}</tr>)}
      </tbody>
    </table>
  );
  return isCompared ? <div class="scroller" role="region" aria-label={caption} tabindex="0">{table}</div> : table;
}

function cellOf<T>(column: Column<T>, row: T, isCompared = false): Html {
  const { label, cell, isNumber, isHead, isMain, isWhole, isAction, isEvident } = column;
  const attributes = {
    class:
      [isNumber && !isCompared && "number", isMain && "main", isWhole && "whole"].filter((kind) => kind).join(" ") ||
      undefined,
    "data-label": !isCompared && !isHead && !isAction && !isEvident && label,
  };
  return isHead ? <th scope="row" {...attributes}>{cell(row)}</th> : <td {...attributes}>{cell(row)}</td>;
}

/** Pairs of a label and a value. */
export const Facts = ({ children }: { children?: Part }): Html => <dl class="facts">{children}</dl>;

export const Fact = ({ label, code, children }: { label: string; code?: string; children?: Part }): Html => (
  <div>
    <dt>{label}</dt>
    <dd>{code === undefined ? children : <code>{code}</code>}</dd>
  </div>
);

type PagerProps = { next: string | null; href(cursor: string): string; label?: "Older" | "Newer" | "More" };

/** The link to the next page of a list, which has older items unless the list begins with the oldest. */
export const Pager = ({ next, href, label = "Older" }: PagerProps): Part =>
  next !== null && (
    <nav class="pager" aria-label="Pages">
      <a class="button" rel="next" href={href(next)}>{label}</a>
    </nav>
  );

/** Hint that a page shows a part of a list that is too long, and how to find the rest. */
export const PartHint = ({ of, children }: { of: string; children?: Part }): Html => (
  <p class="hint">At most {number(mostItems)} {of} are shown, the newest first. {children}</p>
);

/** A filter by its name in the query. `text` is its value in words; empty if the label suffices. */
export type Filter = { name: string; label: string; text?: string | undefined };

type FilterChipsProps = { visit: ConsoleRequest; path: string; filters: readonly Filter[] };

const maxText = 40; // characters

/** The filters that the query has. */
export function FilterChips({ visit, path, filters }: FilterChipsProps): Part {
  const set = filters.filter(({ name }) => queryValue(visit, name) !== undefined);
  if (set.length === 0) return undefined;
  const { cursor: _, ...query } = queryOf(visit);
  return (
    <ul class="chips set" aria-label="Filters">
      {set.map(({ name, label, text = queryValue(visit, name)! }) => (
        <li>
          <a class="chip" href={link(visit, [path], { ...query, [name]: "" })}>
            <span>
              <span class="hide">{`Remove the filter `}</span>
              {label}
              {text !== "" && [": ", <b>{excerpt(text, maxText)}</b>]}
            </span>
            <span aria-hidden="true">×</span>
          </a>
        </li>
      ))}
      {set.length > 1 && (
        <li>
          <a href={link(visit, [path])}>Clear all</a>
        </li>
      )}
    </ul>
  );
}

/** The exact numbers of a chart. */
export function numbersTable({ title, labels, panels }: Chart): Html {
  const columns = panels.flatMap(({ series, unit }) =>
    series.flatMap(({ name, values, ranges }) => [
      { name: `${name} (${unit})`, values },
      ...ranges
        ? ["from", "to"].map((end, nth) => ({ name: `${name}, ${end}`, values: ranges.map((range) => range?.[nth]) }))
        : [],
    ])
  );
  return (
    <div class="scroll" role="region" aria-label={`Table: ${title}`} tabindex="0">
      <table class="series">
        <caption class="hide">{title}</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            {columns.map(({ name }) => <th scope="col">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {labels.map((label, index) => (
            <tr>
              <th scope="row">{label}</th>
              {columns.map(({ values }) => <td>{exactly(values[index])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const exactly = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : value.toLocaleString("en", { maximumSignificantDigits: 17 });
