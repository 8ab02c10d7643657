// A forgotten or wrong base path makes every request a 404. The first one that shows it is a line of the log.
import { withoutKeys } from "../common/errors.ts";
import { consoleLog } from "../common/log.ts";
import { statusOf } from "./respond.ts";
import type { Service, ServiceSettings } from "./service.ts";

/** A path that a service or its faces have, and what stands before it. */
const knownPath =
  /^(.*?)\/(?:v1\/(?:prompts|diagnosis|diagnoses|usage|revisions)|(?:healthz|readyz|metrics|openapi\.json)|(?:admin\/v1|console)(?:\/.*)?)\/*$/;

/** What is wrong with a path: the base path that would fit, if the path tells. Undefined if nothing is. */
function misfitOf(path: string, base: string): { expected: string | undefined } | undefined {
  const isInside = path === base || path.startsWith(`${base}/`);
  const before = knownPath.exec(isInside ? path.slice(base.length) : path)?.[1];
  if (!isInside) return { expected: before };
  return before ? { expected: base + before } : undefined;
}

/** Makes a `fetch` that warns of the first request whose path does not fit the base path. */
export function warningOfBasePath(
  fetch: Service["fetch"],
  { basePath = "", faces = [], metricsToken = "", log = consoleLog }: ServiceSettings,
): Service["fetch"] {
  const base = basePath.replace(/\/$/, "");
  const secrets = [metricsToken, ...faces.flatMap(({ secrets }) => secrets)].filter((secret) => secret !== "");
  let hasWarned = false;

  /** A path for the log: what is as long as a token, or is one, may have been sent in the wrong place. */
  const shown = (path: string): string =>
    secrets.reduce((text, secret) => text.replaceAll(secret, "…"), withoutKeys(path))
      .replace(/[^/]{32,}/g, "…")
      .slice(0, maxShown);

  function warn(url: string): void {
    const { pathname } = new URL(url);
    const misfit = misfitOf(pathname, base);
    if (misfit === undefined) return;
    hasWarned = true;
    const expectedBasePath = misfit.expected === undefined ? undefined : shown(misfit.expected);
    log.warn(outside, { path: shown(pathname), basePath: base, expectedBasePath });
  }

  return async (request) => {
    const response = await fetch(request);
    try {
      if (response.status === statusOf.not_found && !hasWarned) warn(request.url);
    } catch {
      // The log may be an embedder's. If it throws, the client still gets the response.
    }
    return response;
  };
}

const maxShown = 150; // characters of a path

const outside = "Not found: the path is outside of the base path. Set basePath to what stands before /v1 in the path";
