// The ids that identify a request to its sender and in the log.

/** The request's own id, if it has a valid one. */
export function requestIdOf(request: Request, secrets: readonly string[]): string | undefined {
  const given = request.headers.get("X-Request-Id");
  if (given === null || !/^[\w.:/+=@-]{1,128}$/.test(given)) return undefined;
  // The response must not repeat a secret.
  return ["pl_", "plm_", ...secrets].some((secret) => given.includes(secret)) ? undefined : given;
}

/** The trace and the parent span of a request, by W3C Trace Context. */
export function traceOf(request: Request): { traceId: string; parentId: string } | undefined {
  const header = request.headers.get("traceparent");
  if (header === null) return undefined;
  const [, version, traceId, parentId, more] = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/
    .exec(header) ?? [];
  if (version === undefined || version === "ff" || version === "00" && more !== undefined) return undefined;
  return /^0+$/.test(traceId!) || /^0+$/.test(parentId!) ? undefined : { traceId: traceId!, parentId: parentId! };
}
