// An agent for tests: sends messages of the protocol to a world, with the headers and the members that a client adds.
import { createToken } from "../../src/management/access/tokens.ts";
import { perform } from "../../src/management/kernel/operation.ts";
import type { Role } from "../../src/management/kernel/operation.ts";
import type { WorkspaceId } from "../../src/common/ids.ts";
import { encodeHeader, namedBy } from "../../src/mcp/protocol.ts";
import { adminToken, bearer } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";

export const current = "2026-07-28";

export const meta = (version = current) => ({
  "io.modelcontextprotocol/protocolVersion": version,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
});

export type Result = Record<string, unknown> & {
  structuredContent: Record<string, unknown>;
  content: { type: string; text: string }[];
  isError?: boolean;
};
type Response = { id?: unknown; result?: Result; error?: { code: number; message: string; data?: unknown } };

/** Makes a token with a role, of one workspace if it is given. */
export const makeToken = async (world: World, role: Role, workspaceId?: WorkspaceId, name = `${role}'s agent`) =>
  (await perform(createToken, world.admin, { value: { name, role, workspaceId } })).token;

/** Sends a body as it is. */
export const post = (world: World, body: string, headers: Record<string, string> = {}, token = adminToken) =>
  world.send("/mcp", {
    method: "POST",
    headers: { ...bearer(token), "Content-Type": "application/json", ...headers },
    body,
  });

export const headersOf = (method: string, params: Record<string, unknown>, version = current) => {
  const name = namedBy(method, params);
  return {
    "MCP-Protocol-Version": version,
    "Mcp-Method": method,
    ...(typeof name === "string" ? { "Mcp-Name": encodeHeader(name) } : {}),
  };
};

export const bodyOf = (method: string, params: object, version = current, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta(version) } });

export function createAgent(world: World, token = adminToken) {
  const send = (method: string, params: Record<string, unknown> = {}): Promise<Answer> =>
    post(world, bodyOf(method, params), headersOf(method, params), token);

  async function request(method: string, params: Record<string, unknown> = {}): Promise<Result> {
    const answer = await send(method, params);
    const { result } = answer.json as Response;
    if (result === undefined) throw new Error(answer.text);
    return result;
  }
  const call = (name: string, input: object = {}) => request("tools/call", { name, arguments: input });
  return {
    send,
    request,
    /** Calls a tool. */
    call,
    /** The output of a tool, which must not fail. */
    async output<T = Record<string, unknown>>(name: string, input: object = {}): Promise<T> {
      const { isError, structuredContent, content } = await call(name, input);
      if (isError) throw new Error(content[0]!.text);
      return structuredContent as T;
    },
    /** The message of a tool that fails. */
    async failure(name: string, input: object = {}): Promise<string> {
      const { isError, content } = await call(name, input);
      if (!isError) throw new Error(`${name} did not fail`);
      return content[0]!.text;
    },
    async tools(): Promise<string[]> {
      const { tools } = await request("tools/list");
      return (tools as { name: string }[]).map(({ name }) => name);
    },
  };
}
