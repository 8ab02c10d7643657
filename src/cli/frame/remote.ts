// Runs operations on a remote service, over its management API.
import { exportFormats, mediaTypes } from "../../management/kernel/export.ts";
import { adminTokenFault } from "../../http/settings.ts";
import { isApiKey, isId, isToken } from "../../common/ids.ts";
import { conflict, invalid, notFound, Refusal, unusable } from "../../common/errors.ts";
import { adminPath } from "../../http/face.ts";
import { stringify } from "../../common/json-text.ts";
import { namesActor } from "../../management/kernel/operation.ts";
import type { AnyOperation } from "../../management/kernel/operation.ts";
import { fetchOnce } from "../../runtime/terminal.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import { readTrusted } from "../../schema/parse.ts";
import { check } from "../../schema/struct.ts";
import { userOf } from "./command.ts";
import type { Call } from "./command.ts";

// ms without any data. A service sends some every 20 s, and the runtimes' own limit is 5 minutes.
const defaultTimeoutMs = 4 * 60_000;

/**
 * Calls the service at a URL, which the option or variable `name` holds, with the token in the environment. No request
 * is sent twice, even if it fails.
 */
export function connectTo(
  server: string,
  terminal: Terminal,
  { name = "--server", timeoutMs = defaultTimeoutMs }: { name?: string; timeoutMs?: number } = {},
): Call {
  const { base, token, headers } = readAccess(server, terminal, name);
  // A management token has a name of its own.
  const actor = isToken(token) ? undefined : userOf(terminal);
  return async (operation, input) => {
    const named = namesActor(operation) && findActor(input) === undefined ? { ...input, actor } : input;
    const { method, path, body } = toRequest(operation, named);
    const idle = idleTimeout(base, method === "GET", timeoutMs);
    // Redirects are not followed, because the token is for this service alone.
    const init = { method, headers, redirect: "manual", signal: idle.signal, ...(body === undefined ? {} : { body }) };
    const response = await idle.wait(() => fetchOnce(`${base}${adminPath}${path}`, init as RequestInit));
    const type = mediaTypeOf(response);
    const format = response.ok ? exportFormats.find((each) => mediaTypes[each] === type) : undefined;
    const parts = readParts(response, idle);
    if (format !== undefined) return { name: "", format, text: wholeLines(parts, base) } as never;
    let text = "";
    for await (const part of parts) text += part;
    return readAnswer(base, operation, response, text) as never;
  };
}

/** Sends bodies to a path of the service at a URL, with the token in the environment. Returns each response's text. */
export function sendTo(server: string, path: string, terminal: Terminal, name: string) {
  const { base, headers } = readAccess(server, terminal, name);
  return async (body: string, more: Record<string, string>): Promise<{ status: number; text: string }> => {
    const idle = idleTimeout(base, false, defaultTimeoutMs);
    const init = { method: "POST", headers: { ...headers, ...more }, redirect: "manual", signal: idle.signal, body };
    const response = await idle.wait(() => fetchOnce(base + path, init as RequestInit));
    let text = "";
    for await (const part of readParts(response, idle)) text += part;
    return { status: response.status, text };
  };
}

/** The URL of a service, and what each request to it has. Warns where the token is not encrypted. */
function readAccess(server: string, { env, say }: Terminal, name: string) {
  const base = readServer(server, name);
  const token = readToken(env, name);
  const { protocol, hostname } = new URL(base);
  if (protocol === "http:" && !/^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
    say(`Warning: the admin token is sent unencrypted to ${hostname}\n`);
  }
  return { base, token, headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" } };
}

const findActor = (input: { actor?: unknown }) => input.actor;

const mediaTypeOf = ({ headers }: Response): string => /^[^;\s]*/.exec(headers.get("Content-Type") ?? "")![0];

/** The base URL, without a trailing slash. Throws if it is not a URL of a service. */
export function readServer(server: string, name: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || /[?#@]/.test(server)) {
    const hint = server.includes("://") || !URL.canParse(`http://${server}`)
      ? ""
      : `. Write http:// or https:// in front`;
    throw invalid(`${name} must be an http or https URL without user, query or fragment${hint}`);
  }
  return url.href.replace(/\/+$/, "");
}

/** The token in `PROMPTLEDGER_TOKEN`, else in `ADMIN_TOKEN`, which is that of a service on this machine. */
function readToken(env: Terminal["env"], name: string): string {
  const variable = env.PROMPTLEDGER_TOKEN || !env.ADMIN_TOKEN ? "PROMPTLEDGER_TOKEN" : "ADMIN_TOKEN";
  const token = env[variable];
  if (!token) throw invalid(`Set ${variable} to a token of the service: ${name} needs it`);
  const other = isApiKey(token) ? "an API key" : isId("token", token) ? "the id of a token" : undefined;
  if (other !== undefined) {
    throw invalid(`${variable} is ${other}. Set it to a management token, which begins with plm_`);
  }
  const fault = isToken(token) ? undefined : adminTokenFault(token);
  if (fault !== undefined) throw invalid(`${variable} ${fault}`);
  return token;
}

/** Puts the ids of an input into the path, and its other members into the query or the body. */
function toRequest({ input, method, path }: Pick<AnyOperation, "input" | "method" | "path">, value: object) {
  // Input that the service would refuse is not sent.
  const members = new Map(Object.entries(check(input, value)).filter(([, member]) => member !== undefined));
  const target = path.replace(/{(\w+)}/g, (_, name: string) => {
    const text = String(members.get(name));
    members.delete(name);
    // These would change the path.
    if (text === "." || text === "..") throw notFound("Id", text);
    return encodeURIComponent(text);
  });
  if (method === "POST" || method === "PATCH") {
    return { method, path: target, body: stringify(Object.fromEntries(members)) };
  }
  const query = new URLSearchParams();
  for (const [name, member] of members) query.set(name, String(member));
  return { method, path: query.size === 0 ? target : `${target}?${query}` };
}

/** The value of a response, without loss of its JSON. */
function readAnswer(base: string, { id, output }: AnyOperation, response: Response, text: string): unknown {
  const { ok, status, headers } = response;
  const location = headers.get("Location");
  if (location !== null && !ok) throw conflict(`${base} redirects to ${location}. Use the URL of the service itself`);
  const answer = isJsonObject(text) ? readTrusted(output, text) as Partial<Record<string, unknown>> : undefined;
  if (answer === undefined || !ok && typeof answer.error !== "string") {
    throw unusable(`Unexpected response ${status} from ${base}. Is this a promptledger server?`);
  }
  if (ok) return answer;
  // A service without the management face has no such path, and its 404 has no code. An older one has fewer paths.
  if (status === 404 && (answer.code ?? "path_not_found") === "path_not_found") {
    throw conflict(
      `${base} has no management API, or an older one without ${id}. Is the path of the URL right, and the service up to date?`,
    );
  }
  const requestId = headers.get("X-Request-Id");
  // The log is of use only for failures of the service. Any other refusal says all there is to know.
  const message = `${answer.error}${status < 500 || requestId === null ? "" : ` (see ${requestId} in its log)`}`;
  const textOf = (name: string) => typeof answer[name] === "string" ? answer[name] : undefined;
  throw new Refusal("conflict", message, textOf("code"), { field: textOf("field"), expected: textOf("expected") });
}

function isJsonObject(text: string): boolean {
  try {
    return /^\s*{/.test(text) && typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** The body of a response, as it arrives. */
async function* readParts({ body }: Response, idle: IdleTimeout): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await idle.wait(() => reader.read());
      if (done) break;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Passes parts on. Throws if the last line has no end. */
async function* wholeLines(parts: AsyncIterable<string>, base: string): AsyncGenerator<string> {
  let last = "\n";
  for await (const text of parts) {
    last = text.at(-1) ?? last;
    yield text;
  }
  if (last !== "\n") throw unusable(`${base} closed the connection in the middle of a record`);
}

type IdleTimeout = { signal: AbortSignal; wait<T>(work: () => Promise<T>): Promise<T> };

/** Waits for a service unless it sends nothing for too long. An error becomes one line. `isRead`: without effects. */
function idleTimeout(base: string, isRead: boolean, timeoutMs: number): IdleTimeout {
  const controller = new AbortController();
  const giveUp = () => controller.abort(new Error(`no data for ${timeoutMs / 1000} s`));
  return {
    signal: controller.signal,
    async wait(work) {
      const timer = setTimeout(giveUp, timeoutMs);
      try {
        return await work();
      } catch (error) {
        const reason = reasonOf(error);
        const hasNoEffect = isRead || isPlainHttp(reason) ||
          /refused|ENOTFOUND|EAI_AGAIN|unable to connect|dns/i.test(reason);
        throw unusable(
          `${base} does not respond: ${describeReason(reason)}${
            hasNoEffect ? "" : "; the request may have taken effect"
          }`,
        );
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** True if a TLS handshake failed on a port without TLS. Each runtime has its own message. */
const isPlainHttp = (reason: string) =>
  /wrong version number|packet length too long|TLS handshake failed|InvalidContentType/i.test(reason);

const describeReason = (reason: string): string =>
  isPlainHttp(reason) ? "the TLS handshake failed. Does it serve http:// on this port?" : reason;

/** The message of an error's innermost cause. Some have a code and no message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
