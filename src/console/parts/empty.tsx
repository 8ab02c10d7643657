// What stands in the place of a list that has nothing: what would be here, and the next step.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { h } from "../html.ts";
import type { Html, Part } from "../html.ts";

export const Empty = ({ title, children }: { title: string; children?: Part }): Html => (
  <div class="empty">
    <p class="title">{title}</p>
    <p>{children}</p>
  </div>
);
