// The target of the conformance cases: a service behind a transport, and a tenant on it. The cases make and look up everything
// over the management API, so any service with a known admin token can be a target.
import * as assert from "uvu/assert";
import { adminToken, goodBody, promptFile } from "../helpers.ts";
import type { DeploymentId, KeyId, PromptId, WorkspaceId } from "../../src/common/ids.ts";
import type { Tenant } from "../helpers.ts";
import type { HttpAnswer, HttpRequest } from "./http-client.ts";

/** A transport: in process, or over HTTP. */
export type Send = (path: string, request?: HttpRequest) => Promise<HttpAnswer>;

type Members = Record<string, unknown>;
type TenantSettings = { name?: string; monthlyLimit?: number; upgradeUrl?: string };

export type Target = Tenant & {
  send: Send;
  /** Sends a management request. A body that is text is sent as it is. */
  manage<T = Members>(method: string, path: string, body?: string | object): Promise<T>;
  /** Makes a workspace with a key, a prompt and an active deployment. */
  createTenant(settings?: TenantSettings): Promise<Tenant>;
  /** Makes a prompt and a deployment of it. */
  deploy(workspaceId: string, name: string, prompt: string | object): Promise<Pick<Tenant, "promptId" | "deployId">>;
};

export type Case = [name: string, run: (target: Target) => Promise<void>];

/** A case with a tenant of its own. */
export const ownCase = (name: string, run: Case[1], settings: TenantSettings = {}): Case => [
  name,
  async (target) => run({ ...target, ...await target.createTenant(settings) }),
];

export const bearer = (key: string) => `Authorization: Bearer ${key}`;

/** Makes a target with a tenant, which the cases share. */
export async function createTarget(send: Send): Promise<Target> {
  async function manage<T>(method: string, path: string, body?: string | object): Promise<T> {
    const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    const { status, text } = await send(`/admin/v1${path}`, { method, headers: [bearer(adminToken)], ...sent });
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
    return JSON.parse(text);
  }
  const make = <T extends string>(path: string, body: string | object) =>
    manage<{ id: T; key: string }>("POST", path, body);

  async function deploy(workspaceId: string, name: string, prompt: string | object) {
    const { id: promptId } = await make<PromptId>(`/workspaces/${workspaceId}/prompts`, prompt);
    const { id: deployId } = await make<DeploymentId>(`/workspaces/${workspaceId}/deployments`, { name, promptId });
    return { promptId, deployId };
  }

  async function createTenant(settings = {}): Promise<Tenant> {
    const workspace = await make<WorkspaceId>("/workspaces", { name: "Acme", monthlyLimit: 100_000, ...settings });
    const { key, id: keyId } = await make<KeyId>(`/workspaces/${workspace.id}/keys`, {});
    return { workspaceId: workspace.id, key, keyId, ...await deploy(workspace.id, "production", promptFile) };
  }

  return { send, manage, createTenant, deploy, ...await createTenant() };
}

/** Any text may be sent as an id. */
type Caller = Pick<Target, "send" | "key"> & { deployId: string };

export const read = ({ send, key, deployId }: Caller, ...headers: string[]) =>
  send(`/v1/prompts?deployId=${deployId}`, { headers: [bearer(key), ...headers] });

/** Submits a body: text and bytes as they are, anything else as JSON. */
export function submit(
  { send, key, deployId }: Caller,
  body: unknown = goodBody,
  request: HttpRequest = {},
  path = "/v1/diagnosis",
) {
  const sent = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const headers = [bearer(key), "Content-Type: application/json"];
  return send(`${path}?deployId=${deployId}`, { method: "POST", headers, body: sent, ...request });
}

/** The usage of the key's workspace. */
export const usageOf = async ({ send, key }: Pick<Target, "send" | "key">): Promise<Record<string, number>> =>
  JSON.parse((await send("/v1/usage", { headers: [bearer(key)] })).text);

/** The records of a deployment, newest first. */
export async function recordsOf({ send, deployId }: Caller, query = ""): Promise<Members[]> {
  return JSON.parse(await listRecords(send, deployId, query)).items;
}

/** The newest record, as text. */
export async function newestRecord({ send, deployId }: Caller): Promise<string> {
  const text = await listRecords(send, deployId, "&limit=1");
  return text.slice('{"items":['.length, text.lastIndexOf('],"nextCursor":'));
}

async function listRecords(send: Send, deployId: string, query: string): Promise<string> {
  const path = `/admin/v1/deployments/${deployId}/diagnoses?limit=1000${query}`.replace("limit=1000&limit", "limit");
  const { status, text } = await send(path, { headers: [bearer(adminToken)] });
  assert.is(status, 200, text);
  return text;
}

/** The call log of a workspace, newest first. */
export const callsOf = async ({ manage, workspaceId }: Target): Promise<Members[]> =>
  (await manage<{ items: Members[] }>("GET", `/workspaces/${workspaceId}/calls`)).items;
