// Passes messages on to the MCP of a service, and adds the headers that HTTP needs.
import { conflict } from "../common/errors.ts";
import { compact, parseJson, stringify } from "../common/json-text.ts";
import { isObject } from "../schema/struct.ts";
import { codes, encodeHeader, errorResponse, namedBy, versionOf } from "./protocol.ts";
import type { Answerer } from "./stdio.ts";

/** Sends a body to the service. Resolves with the text and the status of its response. */
export type Send = (body: string, headers: Record<string, string>) => Promise<{ status: number; text: string }>;

/** Answers requests through a service at a URL. */
export const answerBy = (url: string, send: Send): Answerer => async ({ id, method, params: { value } }, source) => {
  const version = versionOf(value), name = namedBy(method, value);
  const headers = version === undefined ? {} : { "MCP-Protocol-Version": version, "Mcp-Method": encodeHeader(method) };
  const named = version === undefined || typeof name !== "string" ? {} : { "Mcp-Name": encodeHeader(name) };
  try {
    const { status, text } = await send(source, { ...headers, ...named });
    const response = readResponse(text);
    if (response === undefined) throw conflict(describe(url, status));
    // Without an id, the service refused the request before it read it.
    if ("id" in response) return compact(text.trim());
    const { error } = response as { error: { code: number; message: string } };
    return stringify(errorResponse({ code: error.code, message: error.message }, id));
  } catch (error) {
    return stringify(errorResponse({ code: codes.internalError, message: (error as Error).message }, id));
  }
};

const describe = (url: string, status: number): string =>
  status === 404
    ? `${url} has no MCP. Start the service with MCP=true, and check the path of the URL`
    : `Unexpected response ${status} from ${url}. Is this a promptledger server?`;

function readResponse(text: string): object | undefined {
  const value = parseJson(text);
  return isObject(value) && value.jsonrpc === "2.0" ? value : undefined;
}
