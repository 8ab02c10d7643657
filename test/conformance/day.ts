// A team's day over HTTP alone: everything it does to its prompts, keys and records from another machine.
import * as assert from "uvu/assert";
import { goodBody, promptFile } from "../helpers.ts";

type Json = Record<string, unknown>;
type Answered = { status: number; headers: Headers; json: Json; text: string };

/** A client of one face of a service: `token` is an API key or the admin token. */
async function send(base: string, token: string, method: string, path: string, body?: unknown): Promise<Answered> {
  const response = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("Content-Type") === "application/json";
  return { status: response.status, headers: response.headers, json: isJson ? JSON.parse(text) : {}, text };
}

/** Lives the day on a service with management; `archive` is a workspace with records of months ago. */
export async function liveDay({ base, token, archive }: { base: string; token: string; archive: string }) {
  const manage = async (method: string, path: string, body?: unknown, status = method === "POST" ? 201 : 200) => {
    const answer = await send(base, token, method, `/admin/v1${path}`, body);
    assert.is(answer.status, status, `${method} ${path}: ${answer.text}`);
    return answer.json;
  };

  // A workspace, a key, and a prompt that is live.
  const workspace = await manage("POST", "/workspaces", { name: "Team", monthlyLimit: 100_000 });
  const first = await manage("POST", `/workspaces/${workspace.id}/keys`, { name: "application" });
  const published = await manage("POST", `/workspaces/${workspace.id}/publish`, {
    deploy: "production",
    ...promptFile,
  });
  const { id: deployId } = published.deployment as Json;
  const asked = `deployId=${deployId}`;

  // A key is rotated under load: the application takes the new secret when it gets it, and no request fails.
  let key = String(first.key);
  let isOver = false;
  const statuses = new Map<string, number>();
  const application = async () => {
    while (!isOver) {
      const read = await send(base, key, "GET", `/v1/prompts?${asked}`);
      const submit = await send(base, key, "POST", `/v1/diagnosis?${asked}`, goodBody);
      const seen = `${read.status} ${submit.status}`;
      statuses.set(seen, (statuses.get(seen) ?? 0) + 1);
    }
  };
  const applications = Array.from({ length: 8 }, application);
  for (let turn = 0; turn < 3; turn++) {
    const rotated = await manage("POST", `/keys/${first.id}/rotate`, { overlapMs: 60_000 }, 200);
    await pause(50);
    key = String(rotated.key);
    await pause(50);
  }
  isOver = true;
  await Promise.all(applications);
  assert.equal([...statuses.keys()], ["200 201"]);

  // A second version goes live, back, and live again; each step is in the history.
  const versionServed = async () => {
    const { status, json } = await send(base, key, "GET", `/v1/prompts?${asked}`);
    return status === 200 ? (json.deploy as Json).currentVersion : status;
  };
  await manage("POST", `/prompts/${published.id}/versions`, { ...promptFile, title: "Second", note: "Shorter" });
  await manage("POST", `/deployments/${deployId}/promote`, { version: 2, actor: "ann", note: "Try it" }, 200);
  assert.is(await versionServed(), 2);
  const secondVersion = { ...goodBody, sessionId: "of the second version", status: 2 };
  for (let turn = 0; turn < 5; turn++) await send(base, key, "POST", `/v1/diagnosis?${asked}`, secondVersion);
  await manage("POST", `/deployments/${deployId}/rollback`, { actor: "bob" }, 200);
  assert.is(await versionServed(), 1);
  await manage("POST", `/deployments/${deployId}/deactivate`, {}, 200);
  assert.is(await versionServed(), 404);
  await manage("POST", `/deployments/${deployId}/activate`, {}, 200);
  assert.is(await versionServed(), 1);
  const history = await manage("GET", `/deployments/${deployId}/history`);
  assert.equal((history.items as Json[]).map(({ action, from, to, actor }) => [action, from, to, actor]), [
    ["activated", false, true, ""],
    ["deactivated", true, false, ""],
    ["rolled_back", 2, 1, "bob"],
    ["promoted", 1, 2, "ann"],
    ["created", null, 1, ""],
  ]);

  // The records of one version; all of them as a file; those of one session deleted.
  const records = `/deployments/${deployId}/diagnoses`;
  const ofSecond = await manage("GET", `${records}?promptVersion=2`);
  assert.equal((ofSecond.items as Json[]).map(({ sessionId }) => sessionId), Array(5).fill("of the second version"));
  const exported = await send(base, token, "GET", `/admin/v1${records}/export`);
  const submitted = [...statuses.values()].reduce((sum, count) => sum + count, 0) + 5;
  assert.is(exported.text.trimEnd().split("\n").length, submitted);
  const session = `${records}?sessionId=${encodeURIComponent("of the second version")}`;
  assert.equal(await manage("DELETE", session), { deleted: 5 });
  assert.equal((await manage("GET", `${records}?promptVersion=2`)).items, []);

  // What is older than a quarter goes, and the books balance, with what was deleted and pruned.
  const quarter = 90 * 86_400_000;
  const before = await manage("GET", `/verify?workspaceId=${archive}`);
  const [old] = before.ledgers as Json[];
  assert.equal(await manage("POST", "/prune", { olderThanMs: quarter }, 200), {
    calls: old!.calls,
    records: old!.records,
    isDone: true,
  });
  const { balanced, ledgers } = await manage("GET", "/verify");
  assert.ok(balanced);
  const now = (ledgers as Json[]).find(({ workspaceId }) => workspaceId === workspace.id)!;
  assert.equal([now.records, now.deleted, now.pruned], [submitted, 5, 0]);
  const pruned = (ledgers as Json[]).find(({ workspaceId }) => workspaceId === archive)!;
  assert.equal([pruned.calls, pruned.pruned], [old!.calls, old!.calls]);
  const usage = (await send(base, key, "GET", "/v1/usage")).json;
  assert.equal([usage.used, usage.submits], [now.used, submitted]);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
