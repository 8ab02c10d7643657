// What stands in the place of a list that has nothing: what would be here, and the next step.
import { markup } from "../html.ts";
import type { Html, Part } from "../html.ts";

export const empty = (title: string, next: Part): Html =>
  markup`<div class="empty"><p class="title">${title}</p><p>${next}</p></div>`;
