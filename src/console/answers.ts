// Makes answers: pages, redirects, and pages about what was refused.
import type { Refusal } from "../common/errors.ts";
import { statusOf } from "../http/respond.ts";
import type { Answer, HeaderValues } from "../http/respond.ts";
import { pageHeaders } from "./safety.ts";

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
