// Answers with pages and redirects, and protects them in a browser: the headers of every page, and the origin of every
// change.
import { Refusal } from "../../common/errors.ts";
import { isOwnSite } from "../../faces/own-site.ts";
import { statusOf } from "../../http/respond.ts";
import type { Answer, HeaderValues } from "../../http/respond.ts";

// Styles and scripts are files of the console, never inline. Framing is not allowed.
const policy = [
  "default-src 'none'",
  ...["script-src", "style-src", "img-src", "connect-src", "form-action"].map((name) => `${name} 'self'`),
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The headers of a page. With `no-referrer` a browser would send the origin of its forms as `null`. */
export const pageHeaders = (): HeaderValues => ({
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": policy,
  "Referrer-Policy": "same-origin",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
});

/** The headers of an untrusted text, which a browser must never run. */
export const rawTextHeaders = (): HeaderValues => ({
  ...pageHeaders(),
  "Content-Type": "text/plain; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
});

/**
 * Refuses a change that a page of the console did not send, or that names no site: browsers name it with forms, and the
 * cookie is only for browsers.
 */
export function requireOwnPage(request: Request): void {
  if (isOwnSite(request) === true) return;
  const hint = request.headers.has("Sec-Fetch-Site") ? "" : ". Over http, a proxy must pass on the Host header";
  throw new Refusal("forbidden", `This request did not come from a page of this console${hint}`, "cross_site");
}

/** True if a page of another site led here. A browser withholds the cookie then. */
export const isFromElsewhere = ({ headers }: Request): boolean =>
  ["cross-site", "same-site"].includes(headers.get("Sec-Fetch-Site") ?? "");

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
