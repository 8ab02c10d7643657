// What stands in the place of a list that has nothing: what would be here, and the next step.
/** @jsx h */
import { h } from "../html.ts";
import type { Html, Part } from "../html.ts";

export const Empty = ({ title, children }: { title: string; children?: Part }): Html => (
  <div class="empty">
    <p class="title">{title}</p>
    <p>{children}</p>
  </div>
);

// Until all pages are JSX.
export const empty = (title: string, next: Part): Html => <Empty title={title}>{next}</Empty>;
