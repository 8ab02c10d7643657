// The requests of a Worker. Each has a separate service, because none may wait for another one.
import { databaseUrlFault, isFileUrl } from "../database/location.ts";
import { invalid } from "../common/errors.ts";
import { noFiles, openRemote } from "../database/client.ts";
import type { DatabaseSource } from "../database/client.ts";
import { adminPath, consolePath, mcpPath } from "../http/face.ts";
import { createInFlight } from "../http/in-flight.ts";
import { assemble } from "../service/service.ts";
import type { ServiceSettings, Shared } from "../service/service.ts";

const managed = [adminPath, consolePath, mcpPath];

/** True if a request may make a change that is an event. Agents send reads by POST too. */
export function mayChange({ method, url }: Request): boolean {
  if (["GET", "HEAD", "OPTIONS"].includes(method)) return false;
  const { pathname } = new URL(url);
  return managed.some((path) => pathname === path || pathname.startsWith(`${path}/`));
}

/** Answers one request of a Worker. `sent` resolves once all of the response has been sent. */
export function answer(request: Request, source: DatabaseSource, settings: ServiceSettings, shared: Shared) {
  const { service } = openOne(source, settings, shared);
  const response = service.fetch(request);
  return { response, sent: response.then(() => service.drain()) };
}

/**
 * Opens the service of one request, with a separate count of requests in flight: a Worker stops a request whose client
 * resets the connection without running `finally`.
 */
export function openOne(
  source: DatabaseSource,
  settings: ServiceSettings,
  shared: Shared,
  { isDraining = false, isClosed = false } = {},
) {
  const inFlight = createInFlight();
  if (isDraining) void inFlight.drain();
  if (isClosed) void inFlight.close();
  return assemble(openRemote(source, "serve"), settings, { ...shared, inFlight });
}

export function requireRemote(source: DatabaseSource): DatabaseSource {
  if (typeof source === "object" && "execute" in source) return source;
  const url = typeof source === "string" ? source : source.url;
  const fault = databaseUrlFault(url);
  if (fault !== undefined) throw invalid(`database ${fault}`);
  if (isFileUrl(url)) throw noFiles();
  return source;
}
