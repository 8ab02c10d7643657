// A sentence that must not be missed. A word tells its kind, not the colour alone.
import { markup } from "../html.ts";
import type { Html, Part } from "../html.ts";

const words = { done: "Done", info: "Note", warning: "Careful", error: "Not done" } as const;

export const notice = (kind: keyof typeof words, content: Part): Html =>
  markup`<div class="notice ${kind}" role="${kind === "error" ? "alert" : "status"}"><p><strong>${
    words[kind]
  }</strong> ${content}</p></div>`;
