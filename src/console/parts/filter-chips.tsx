// The filters that are set, each as a link that takes it away.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { excerpt } from "../format.tsx";
import { h } from "../html.ts";
import type { Part } from "../html.ts";
import { asked, link } from "../page.ts";
import type { Visit } from "../page.ts";

/** A filter by its name in the query. `text` is its value in words; it is empty if the label says it all. */
export type Filter = { name: string; label: string; text?: string | undefined };

type FilterChipsProps = { visit: Visit; path: string; filters: readonly Filter[] };

const maxText = 40; // characters

/** Those of the filters that the query has. */
export function FilterChips({ visit, path, filters }: FilterChipsProps): Part {
  const set = filters.filter(({ name }) => asked(visit, name) !== undefined);
  if (set.length === 0) return undefined;
  const { cursor: _, ...query } = queryOf(visit);
  return (
    <ul class="chips set" aria-label="Filters">
      {set.map(({ name, label, text = asked(visit, name)! }) => (
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

/** The query of the page for links, in which each name stands once. Several values of one name become a list. */
export const queryOf = ({ query }: Visit): Record<string, string> =>
  Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name).join(",")]));
