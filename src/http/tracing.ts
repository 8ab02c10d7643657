// The ids that identify a request to its sender and in the log.

/** The request's own id, if it has a valid one. */
export function requestIdOf(request: Request, secrets: readonly string[]): string | undefined {
  const given = request.headers.get("X-Request-Id");
  if (given === null || !/^[\w.:/+=@-]{1,128}$/.test(given)) return undefined;
  // The response must not repeat a secret.
  return ["pl_", "plm_", ...secrets].some((secret) => given.includes(secret)) ? undefined : given;
}

// There is no version ff, nothing may follow in version 00, and ids of zeros are invalid.
const traceparent = /^(?!ff)(?!00.{54})[0-9a-f]{2}-(?!0+-)([0-9a-f]{32})-(?!0+-)([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

/** The trace and the parent span of a request, by W3C Trace Context. */
export function traceOf(request: Request): { traceId: string; parentId: string } | undefined {
  const header = request.headers.get("traceparent");
  const [, traceId, parentId] = header === null ? [] : traceparent.exec(header) ?? [];
  return traceId === undefined ? undefined : { traceId, parentId: parentId! };
}
