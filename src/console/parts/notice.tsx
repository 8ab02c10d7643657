// A sentence that must not be missed. A word tells its kind, not the colour alone.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { h } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { askedWord } from "../page.ts";
import type { Visit } from "../page.ts";

const words = { done: "Done", info: "Note", warning: "Warning", error: "Error" } as const;

type NoticeProps = { kind: keyof typeof words; children?: Part };

export const Notice = ({ kind, children }: NoticeProps): Html => (
  <div class={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
    <p>
      <strong>{words[kind]}</strong> {children}
    </p>
  </div>
);

/** Says what a change did that led to this page. `texts` has a text for each word that the query may have. */
export function doneNotice(visit: Visit, texts: Readonly<Record<string, Part>>): Part {
  const done = askedWord(visit, "done", Object.keys(texts));
  return done !== undefined && <Notice kind="done">{texts[done]}</Notice>;
}
