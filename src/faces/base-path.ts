// Logs the first request that shows a forgotten or wrong base path, which makes every request a 404.
import { withoutKeys } from "../common/errors.ts";
import { consoleLog } from "../common/log.ts";
import { statusOf } from "../http/respond.ts";
import type { Service, ServiceSettings } from "../service/service.ts";

/** Matches a path of a service or its faces, and captures the prefix. */
const knownPath =
  /^(.*?)\/(?:v1\/(?:prompts|diagnosis|diagnoses|usage|revisions)|(?:healthz|readyz|metrics|openapi\.json)|(?:admin\/v1|console)(?:\/.*)?)\/*$/;

/** Undefined if a path fits the base path; otherwise the one that would fit, if it can be determined. */
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

  /** Path for the log, without tokens and texts as long as one, which may be misplaced secrets. */
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
