// The messages of the Model Context Protocol: JSON-RPC 2.0 with the version in each request (2026-07-28), or from older
// clients, which agree on a version by `initialize` and then leave it out.
import { Refusal } from "../common/errors.ts";
import type { ErrorKind } from "../common/errors.ts";
import { jsonText, parseJson, readMembers } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { parseObject } from "../schema/parse.ts";
import type { Unchecked } from "../schema/parse.ts";
import { isObject } from "../schema/struct.ts";

/** The version that needs no `initialize`. */
export const currentVersion = "2026-07-28";
/** Versions of older clients, the newest first. */
export const olderVersions = ["2025-11-25", "2025-06-18", "2025-03-26"];

export const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
};

/** An error of the protocol. `kind` decides the status of its response over HTTP, which is 200 without one. */
export type Fault = { code: number; message: string; data?: object; kind?: ErrorKind };

/** A request, or a notification if it has no id. `params` are not checked. */
export type Message = {
  id: JsonText | undefined;
  method: string;
  params: { value: Record<string, unknown>; members: Map<string, string> };
  /** True if it contains the version. Responses to older clients have fewer members. */
  isCurrent: boolean;
};

const invalidRequest = (message: string): Fault => ({ code: codes.invalidRequest, message, kind: "invalid" });
const invalidParams = (message: string): Fault => ({ code: codes.invalidParams, message, kind: "invalid" });
const headerMismatch = (message: string): Fault => ({ code: codes.headerMismatch, message, kind: "invalid" });

export const isFault = (read: object): read is Fault => "code" in read;

const maxLevels = 200;

/** Parses a message. Returns a fault, with the id if that is readable, unless it is valid. */
export function readMessage(text: string): Message | { fault: Fault; id?: JsonText | undefined } {
  const parsed = parseMessage(text);
  if (isFault(parsed)) return { fault: parsed };
  const { value, members } = parsed;
  const { jsonrpc, method, params = {} } = value;
  const id = "id" in value ? readId(value.id, members) : undefined;
  if (id === null) return { fault: invalidRequest("id must be a string or an integer") };
  if (jsonrpc !== "2.0") return { fault: invalidRequest('jsonrpc must be "2.0"'), id };
  if (typeof method !== "string") return { fault: invalidRequest("A message must be a request or a notification"), id };
  if (!isObject(params)) return { fault: invalidParams("params must be an object"), id };
  const inParams = members.has("params") ? readMembers(members.get("params")!) : new Map<string, string>();
  const isCurrent = versionIn(params) !== undefined;
  return { id, method, params: { value: params, members: inParams }, isCurrent };
}

function parseMessage(text: string): Required<Unchecked> & { value: Record<string, unknown> } | Fault {
  try {
    return parseObject(text, "A message", maxLevels);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { message } = error;
    return parseJson(text) !== undefined
      ? invalidRequest(message)
      : { code: codes.parseError, message, kind: "invalid" };
  }
}

/** The id as it was sent, with all its digits. Null if invalid. */
const readId = (id: unknown, members: Map<string, string>): JsonText | null =>
  typeof id === "string" || Number.isInteger(id) ? jsonText(members.get("id")!.trim()) : null;

const versionKey = "io.modelcontextprotocol/protocolVersion";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

const metaOf = ({ _meta }: Record<string, unknown>): Record<string, unknown> => isObject(_meta) ? _meta : {};
const versionIn = (params: Record<string, unknown>): unknown => metaOf(params)[versionKey];

/** The version in the params of a request. */
export function versionOf(params: Record<string, unknown>): string | undefined {
  const version = versionIn(params);
  return typeof version === "string" ? version : undefined;
}

/** Finds a fault in the version of a request, or in its headers over HTTP. */
export function findFault({ method, params: { value } }: Message, headers?: Headers): Fault | undefined {
  const version = versionIn(value), header = headers?.get("MCP-Protocol-Version") ?? undefined;
  if (version === undefined) {
    if (header === undefined || olderVersions.includes(header)) return undefined;
    return header === currentVersion ? invalidParams(`_meta must have ${versionKey}`) : unsupported(header);
  }
  if (typeof version !== "string") return invalidParams(`${versionKey} must be a string`);
  if (headers !== undefined && header !== version) return mismatch("MCP-Protocol-Version", header, version);
  if (version !== currentVersion) return unsupported(version);
  if (!isObject(metaOf(value)[capabilitiesKey])) return invalidParams(`_meta must have ${capabilitiesKey}`);
  return headers && findHeaderFault(method, value, headers);
}

const unsupported = (requested: string): Fault => ({
  code: codes.unsupportedVersion,
  message: "Unsupported protocol version",
  data: { supported: [currentVersion, ...olderVersions], requested },
  kind: "invalid",
});

/** The members of params that the header Mcp-Name repeats. */
const nameMembers: Record<string, string> = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };

/** Name that a request calls, for the header Mcp-Name. */
export const namedBy = (method: string, params: Record<string, unknown>): unknown =>
  Object.hasOwn(nameMembers, method) ? params[nameMembers[method]!] : undefined;

function findHeaderFault(method: string, params: Record<string, unknown>, headers: Headers): Fault | undefined {
  const given = headers.get("Mcp-Method") ?? undefined;
  if (given !== method) return mismatch("Mcp-Method", given, method);
  const name = namedBy(method, params);
  if (typeof name !== "string") return undefined;
  const header = headers.get("Mcp-Name") ?? undefined;
  return header !== undefined && decodeHeader(header) === name ? undefined : mismatch("Mcp-Name", header, name);
}

const mismatch = (name: string, header: string | undefined, expected: string): Fault =>
  headerMismatch(
    header === undefined
      ? `Header mismatch: ${name} is missing, and must be the body's value ${JSON.stringify(expected.slice(0, 100))}`
      : `Header mismatch: ${name} must be the body's value ${JSON.stringify(expected.slice(0, 100))}`,
  );

const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** The value of a header, which may be encoded. Undefined if its encoding is faulty. */
function decodeHeader(header: string): string | undefined {
  const [, base64] = encoded.exec(header) ?? [];
  if (base64 === undefined) return header;
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A value for a header, encoded if necessary. */
export function encodeHeader(value: string): string {
  if (/^[!-~]([ -~]*[!-~])?$/.test(value) && !encoded.test(value)) return value;
  const bytes = new TextEncoder().encode(value);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}

/** The error of a response for a refusal. `data` has its code and the field at fault, as the management API does. */
export function faultOf({ kind, code, message, field, expected }: Refusal): Fault {
  const isOurs = kind === "internal" || kind === "overloaded" || kind === "unavailable";
  return { code: isOurs ? codes.internalError : codes.invalidParams, message, data: { code, field, expected } };
}

/** An error response. Without an id, it answers an unreadable message. */
export const errorResponse = ({ code, message, data }: Fault, id?: JsonText): object => ({
  jsonrpc: "2.0",
  ...(id === undefined ? {} : { id }),
  error: { code, message, ...(data === undefined ? {} : { data }) },
});
