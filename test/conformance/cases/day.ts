// A team's day: everything it does to its prompts, keys and records from another machine.
import * as assert from "uvu/assert";
import type { LedgerBalance } from "../../../src/schema/ledger.ts";
import { assertBalanced } from "../../balanced.ts";
import { adminToken, goodBody, promptFile } from "../../helpers.ts";
import { bearer, createTarget, read, recordsOf, submit, usageOf } from "../target.ts";
import type { Send, Target } from "../target.ts";

/** Makes a workspace with records on a service whose clock is far behind. Returns its id. */
export async function makeArchive(send: Send): Promise<string> {
  const target = await createTarget(send);
  const answers = await Promise.all(Array.from({ length: 20 }, () => submit(target)));
  assert.equal(answers.map(({ status }) => status), Array(20).fill(201));
  return target.workspaceId;
}

type Json = Record<string, unknown>;

/** Runs the day with this many applications. All records of the workspace `archive` are older than a quarter. */
export async function liveDay(target: Target, archive: string, applicationCount = 8): Promise<void> {
  const { manage } = target;
  const post = (path: string, body: object = {}) => manage<Json>("POST", path, body);

  // A workspace, a key, and a prompt that is live.
  const { workspaceId, key: firstKey, keyId } = await target.createTenant({ name: "Team" });
  const { id: promptId, deployment } = await post(`/workspaces/${workspaceId}/publish`, {
    deploy: "live",
    ...promptFile,
  });
  const { id: deployId } = deployment as { id: string };
  const client = { send: target.send, key: firstKey, deployId };

  // A key is rotated under load: the applications use the new secret once they get it, and no request fails.
  let isOver = false;
  const statuses = new Map<string, number>();
  const answered = () => [...statuses.values()].reduce((sum, count) => sum + count, 0);
  let goOn = () => {};
  /** Waits until the applications have got this many more answers. */
  const untilAnswered = (more: number) => {
    const enough = answered() + more;
    return new Promise<void>((resolve) => goOn = () => answered() >= enough && resolve());
  };
  const application = async () => {
    while (!isOver) {
      const seen = `${(await read(client)).status} ${(await submit(client)).status}`;
      statuses.set(seen, (statuses.get(seen) ?? 0) + 1);
      goOn();
    }
  };
  const applications = Promise.all(Array.from({ length: applicationCount }, application));
  for (let round = 0; round < 3; round++) {
    const rotation = post(`/keys/${keyId}/rotate`, { overlapMs: 3_600_000 });
    const rotated = await Promise.race([rotation, applications.then(() => rotation)]);
    await Promise.race([untilAnswered(16), applications]);
    client.key = String(rotated.key);
    await Promise.race([untilAnswered(16), applications]);
  }
  isOver = true;
  await applications;
  assert.equal([...statuses.keys()], ["200 201"]);

  // A second version goes live and is rolled back. Each step is in the history.
  const versionServed = async () => {
    const { status, text } = await read(client);
    return status === 200 ? JSON.parse(text).deploy.currentVersion : status;
  };
  await post(`/prompts/${promptId}/versions`, { ...promptFile, title: "Second", note: "Shorter" });
  await post(`/deployments/${deployId}/promote`, { version: 2, actor: "ann", note: "Try it" });
  assert.is(await versionServed(), 2);
  const sessionId = "of the second version";
  for (let nth = 0; nth < 5; nth++) await submit(client, { ...goodBody, sessionId, status: 2 });
  await post(`/deployments/${deployId}/rollback`, { actor: "bob" });
  assert.is(await versionServed(), 1);
  await post(`/deployments/${deployId}/deactivate`);
  assert.is(await versionServed(), 404);
  await post(`/deployments/${deployId}/activate`);
  assert.is(await versionServed(), 1);
  const history = await manage<{ items: Json[] }>("GET", `/deployments/${deployId}/history`);
  assert.equal(history.items.map(({ action, from, to, actor }) => [action, from, to, actor]), [
    ["activated", false, true, ""],
    ["deactivated", true, false, ""],
    ["rolled_back", 2, 1, "bob"],
    ["promoted", 1, 2, "ann"],
    ["created", null, 1, ""],
  ]);

  // The records of one version are listed, all records are exported, and those of one session are deleted.
  const records = `/deployments/${deployId}/diagnoses`;
  const ofSecond = await recordsOf(client, "&promptVersion=2");
  assert.equal(ofSecond.map(({ sessionId }) => sessionId), Array(5).fill(sessionId));
  const exported = await target.send(`/admin/v1${records}/export`, { headers: [bearer(adminToken)] });
  const submitted = answered() + 5;
  assert.is(exported.text.trimEnd().split("\n").length, submitted);
  const session = `${records}?sessionId=${encodeURIComponent(sessionId)}`;
  assert.equal(await manage("DELETE", session), { deleted: 5 });
  assert.equal(await recordsOf(client, "&promptVersion=2"), []);

  // Calls older than a quarter are pruned. The ledger balances, including what was deleted and pruned.
  const ledgerOf = async (workspaceId: string) => {
    const [ledger] = assertBalanced(await manage("GET", `/verify?workspaceId=${workspaceId}`));
    return ledger as LedgerBalance;
  };
  const { calls, records: old } = await ledgerOf(archive);
  const pruned = await post("/prune", { olderThanMs: 90 * 86_400_000 });
  assert.equal(pruned, { calls, records: old, isDone: true });
  const now = await ledgerOf(workspaceId);
  assert.equal([now.records, now.deleted, now.pruned], [submitted, 5, 0]);
  const after = await ledgerOf(archive);
  assert.equal([after.calls, after.pruned], [calls, calls]);
  const usage = await usageOf(client);
  assert.equal([usage.used, usage.submits], [now.used, submitted]);
}
