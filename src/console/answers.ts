// Makes answers: pages, redirects, and pages about what was refused.
import { exportsOverloaded } from "../common/errors.ts";
import type { Refusal } from "../common/errors.ts";
import { statusOf, streamed } from "../http/respond.ts";
import type { Answer, HeaderValues } from "../http/respond.ts";
import type { Export } from "../management/export.ts";
import { pageHeaders, rawTextHeaders } from "./safety.ts";

const seeOther = 303;

/** A page as an answer. `kind` is the reason of a refusal. */
export function pageAnswer(body: string, kind?: Refusal["kind"], headers: HeaderValues = {}): Answer {
  return {
    status: statusOf[kind ?? "ok"],
    headers: { ...pageHeaders(), ...headers },
    body,
    ...(kind === undefined ? {} : { error: kind }),
  };
}

/** Sends the browser to another page, relative to this one. */
export const redirectTo = (location: string, headers: HeaderValues = {}): Answer => ({
  status: seeOther,
  headers: { ...pageHeaders(), ...headers, Location: location },
  body: "",
});

/** How many exports are being sent. */
export type Exports = { count: number };

const maxExports = 4; // at once: each holds a page of records, however slowly its browser reads

/** An export as a file to keep. */
export function exportAnswer({ name, format, text }: Export, exports: Exports): Answer {
  if (exports.count >= maxExports) throw exportsOverloaded();
  exports.count++;
  const headers = { ...rawTextHeaders(), "Content-Disposition": `attachment; filename="${name}.${format}"` };
  return streamed(text, headers, () => void exports.count--);
}
