// Fills a workspace: everything that a tenant can create is at its bound, and each text is as long as it may be.
// Rows are written in bulk, since requests would take hours.
import { createHash } from "node:crypto";
import { bounds } from "../../src/support/bounds.ts";
import type { Database, Statement } from "../../src/database/database.ts";
import { noon } from "../actions.ts";
import type { Tenant } from "../helpers.ts";
import { fillNames, fillRecords } from "./records.ts";
import { idIn, label, name, note, nthId, rowsOf, wide } from "./rows.ts";
import type { Args, Size } from "./rows.ts";

/** A full workspace: its tenant, and the ids that requests name. */
export type Full = Tenant & {
  size: Size;
  /** A record with as much feedback as there may be, and one in a session of many. */
  judgedId: string;
  recordId: string;
  reviewId: string;
  webhookId: string;
  alertId: string;
  budgetId: string;
  rolloutId: string;
  changeId: string;
  tokenId: string;
  priceId: string;
  otherDeployId: string;
};

/** Fills the workspace of a tenant that has one prompt and one deployment. */
export async function fillWorkspace(database: Database, tenant: Tenant, size: Size): Promise<Full> {
  const { workspaceId, promptId, deployId, keyId } = tenant, { prompts, past } = size;
  const at = { workspaceId, promptId, deployId, keyId, at: noon - 3_600_000, name, note, label };
  const write = async (...statements: Statement[]) => void await database.write(statements);
  const add = (table: string, count: number, columns: Record<string, string>, more: Args = {}) => {
    const args = { ...at, ...more }, text = Object.values(columns).join(" ");
    const used = Object.entries(args).filter(([name]) => new RegExp(`:${name}\\b`).test(text));
    return write(rowsOf(table, count, columns, Object.fromEntries(used)));
  };
  const statuses = Array.from({ length: 100 }, (_, status) => ({
    ...{ status, name: wide.repeat(36) + String(status).padStart(4, "x"), isFailure: status % 2 === 0 },
  }));
  await write({
    sql: "update workspaces set name = ?, upgrade_url = ?, statuses = ?, monthly_limit = ? where id = ?",
    args: [name, `https://a.test/${"u".repeat(1_900)}`, JSON.stringify(statuses), Number.MAX_SAFE_INTEGER, workspaceId],
  });

  // Prompts, versions and deployments. One prompt has as many versions and deployments as a list of it can show.
  const content = { messages: longMessages(size.contentBytes), config: longConfig(size.contentBytes) };
  await add("prompts", prompts - 1, {
    id: idIn("prompt"),
    workspace_id: ":workspaceId",
    name: "'p/' || n",
    created_at: ":at",
  });
  await add("prompt_versions", prompts - 1, {
    ...{
      prompt_id: idIn("prompt"),
      version: "1",
      title: ":name",
      description: ":note",
      note: ":note",
      created_at: ":at",
    },
    ...{
      messages: `iif(n < 20, :messages, '[{"role":"user","content":"{{a}}"}]')`,
      llm_config: "iif(n < 20, :config, '{}')",
    },
  }, content);
  await add("prompt_versions", prompts - 1, {
    ...{
      prompt_id: ":promptId",
      version: "n + 2",
      title: ":name",
      description: ":note",
      note: ":note",
      created_at: ":at",
    },
    ...{
      messages: `iif(n < 20, :messages, '[{"role":"user","content":"{{a}}"}]')`,
      llm_config: "iif(n < 20, :config, '{}')",
    },
  }, content);
  const deployment = { workspace_id: ":workspaceId", is_active: "1", revision: "1", created_at: ":at" };
  // One name is common, the others are each of one prompt.
  await add("deployments", Math.max(prompts - bounds.deploymentsOfPrompt, 100), {
    ...{ id: idIn("dep"), ...deployment, prompt_id: idIn("prompt"), current_version: "1" },
    name: "iif(n % 2, 'production', 'd' || n)",
  });
  await add("deployments", bounds.deploymentsOfPrompt - 1, {
    ...{ id: idIn("dep", "n + 10000"), ...deployment, name: "'e' || n", prompt_id: ":promptId", current_version: "2" },
  });

  // Rollouts and change requests of one deployment.
  await add("rollouts", past, {
    ...{ id: idIn("ro"), workspace_id: ":workspaceId", deployment_id: ":deployId", base_version: "1", version: "2" },
    ...{ share: "500", salt: "'salt'", note: ":note", started_at: ":at", started_by: ":name" },
    ...{ ended_at: ":at + 1000", outcome: "'stopped'", guard: ":guard", certain: "99" },
  }, { guard: longGuard });
  const request = {
    ...{ workspace_id: ":workspaceId", operation: "'setRollout'", input: ":input", from_state: ":guard" },
    ...{ to_state: ":guard", live_version: "1", version: "2", revision: "1", content_hash: "'x'", note: ":note" },
    ...{ source: "'api'", requested_by: ":name", owner: ":name", created_at: ":at", expires_at: ":at + 9000000000" },
  };
  const asked = { guard: longGuard, input: JSON.stringify({ version: 2, percent: 50, guard: longGuard }) };
  await add("change_requests", past, {
    ...{ ...request, id: idIn("change"), deployment_id: ":deployId", state: "'declined'", decided_by: ":name" },
    ...{ decider_owner: ":name", decided_at: ":at", reason: ":note" },
  }, asked);
  // Each deployment may have one that waits.
  await add("change_requests", bounds.deploymentsOfPrompt - 1, {
    ...{ ...request, id: idIn("change", "n + 10000"), deployment_id: idIn("dep", "n + 10000"), state: "'open'" },
  }, asked);

  // Keys, tokens and prices.
  await add("api_keys", bounds.keys - 1, {
    ...{ id: idIn("key"), workspace_id: ":workspaceId", name: ":name", prefix: "'pl_x'", created_at: ":at" },
  });
  await add("api_key_secrets", bounds.keys - 1, {
    hash: "printf('%064x', n)",
    api_key_id: idIn("key"),
    workspace_id: ":workspaceId",
  });
  await add("management_tokens", bounds.tokens, {
    ...{ id: idIn("token"), workspace_id: ":workspaceId", name: ":name", role: "'viewer'", prefix: "'plt_x'" },
    ...{ created_at: ":at", owner: ":name" },
  });
  await add("management_token_secrets", bounds.tokens, { hash: "printf('%064x', n)", token_id: idIn("token") });
  await add("prices", Math.min(prompts, bounds.prices), {
    ...{ id: idIn("price"), provider: "substr(:name, 1, 100)", model: "substr(:name, 1, 90) || n", input: "'1'" },
    ...{ output: "'2'", valid_from: "0", created_at: ":at" },
  });

  // Webhooks with their deliveries, alerts, budgets, and reviews.
  await add("webhooks", bounds.webhooks, {
    ...{ id: idIn("wh"), workspace_id: ":workspaceId", url: "'https://a.test/' || n", address: "'https://a.test'" },
    ...{ events: "null", format: "'standard'", created_at: ":at", seen: "0" },
    ...{ disabled_at: ":at", disabled_reason: "'user'" },
  });
  await add("webhook_deliveries", past, {
    ...{ webhook_id: idIn("wh", "0"), number: "n + 1", event_id: "'evt_' || n", type: "'review.created'" },
    ...{ event: ":event", created_at: ":at", attempts: "9", outcome: "'failed'", last_at: ":at", status: "500" },
    ...{ response: ":response", error: ":response", duration_ms: "1" },
  }, { event: JSON.stringify(longEvent), response: wide.repeat(512) });
  await add("alerts", bounds.alerts, {
    ...{ id: idIn("alert"), workspace_id: ":workspaceId", condition: `'failures>' || (n % 99 + 1) || '%'` },
    ...{ over_ms: "86400000", at_least: "50", keep_firing_ms: "0", created_at: ":at", changed_at: ":at" },
    ...{ state: "'firing'", state_at: ":at", turn: "0" },
  });
  await add("budgets", bounds.budgets, {
    ...{ id: idIn("budget"), workspace_id: ":workspaceId", amount: "'1'", per: "'month'", created_at: ":at" },
    ...{ thresholds: "'1,2,3,4,5,6,7,8,9,10'", changed_at: ":at" },
  });
  await add("reviews", bounds.reviews, {
    ...{ id: idIn("review"), workspace_id: ":workspaceId", title: ":name", filter: ":filter", sequence: "'newest'" },
    ...{ names: ":names", records: "100", created_at: ":at", created_by: ":name" },
  }, { filter: JSON.stringify(longFilter), names: JSON.stringify(longNames) });

  await fillAuditLog(database, tenant, size);
  await fillNames(database, tenant);
  const { newest, ...records } = await fillRecords(database, tenant, size);
  await add("review_records", Math.min(size.records, bounds.recordsOfReview), {
    ...{ review_id: idIn("review", "0"), ordinal: "n", position: ":records - n", state: "'done'", finished_at: ":at" },
    reviewer: "substr(:name, 1, 120) || n",
  }, { records: newest });
  return {
    ...{ ...tenant, size, ...records, reviewId: nthId("review", 0), webhookId: nthId("wh", 0) },
    ...{ alertId: nthId("alert", 0), budgetId: nthId("budget", 0), rolloutId: nthId("ro", 0) },
    ...{ changeId: nthId("change", 0), tokenId: nthId("token", 0), priceId: nthId("price", 0) },
    otherDeployId: nthId("dep", 0),
  };
}

/** A text part for each kilobyte, so that there is something to parse. */
const longMessages = (bytes: number): string =>
  JSON.stringify(Array.from({ length: Math.ceil(bytes / 1_000) }, (_, nth) => (
    { role: "user", content: `${"x".repeat(960)} {{v${nth}}}` }
  )));

const longConfig = (bytes: number): string =>
  JSON.stringify({ provider: "openai", model: "gpt-5", tools: "x".repeat(bytes) });

const longGuard = Array.from({ length: 10 }, (_, nth) => `${"n".repeat(60)}${nth}=-5%`).join();
const longNames = Array.from({ length: 20 }, (_, nth) => "n".repeat(60) + String(nth).padStart(4, "0"));
const longFilter = {
  ...{ sessionId: wide.repeat(512), status: "9".repeat(1_000), where: `a=${wide.repeat(490)}` },
  ...{ feedback: `a=${wide.repeat(490)}`, text: wide.repeat(200), model: wide.repeat(200) },
};
const longEvent = {
  ...{ type: "review.created", subject: { noun: "review", id: "x", name }, path: "x" },
  ...{ before: null, after: { filter: longFilter, names: longNames }, note },
};

/** Entries of each noun that has a page of its changes: the deployment, the alert and the prompt. */
async function fillAuditLog(database: Database, { workspaceId, deployId, promptId }: Tenant, { past }: Size) {
  const [head] = await database.read({ sql: "select position, hash from audit_head where id = 1" });
  let position = Number(head!.position), hash = String(head!.hash);
  const entries: unknown[][] = [];
  const add = (action: string, target: string, before: object | null, after: object | null) => {
    const [was, is] = [before, after].map((state) => state === null ? null : JSON.stringify(state));
    const entry = [++position, noon - 3_600_000, "api", name, null, action, target, workspaceId, was, is, note, null];
    hash = createHash("sha256").update(JSON.stringify([hash, ...entry])).digest("hex");
    entries.push([...entry, hash]);
  };
  for (let nth = 0; nth < past; nth++) {
    const revision = nth + 2, version = nth % 2 + 1;
    add("deployment.promoted", deployId, { currentVersion: 3 - version, revision: revision - 1 }, {
      ...{ currentVersion: version, revision, origin: { commit: name, author: name, repository: name, change: name } },
    });
    add("alert.fired", nthId("alert", 0), { state: "ok" }, { state: "firing", value: nth });
    add("review.created", nthId("review", nth), null, { title: name, filter: longFilter, names: longNames });
    add("prompt.pushed", promptId, { latestVersion: nth + 1 }, { latestVersion: nth + 2, hash: "x" });
  }
  const columns = ["position", "created_at", "source", "actor", "token_id", "action", "target_id", "workspace_id"];
  columns.push("before", "after", "note", "request_id", "hash");
  for (let first = 0; first < entries.length; first += 100) {
    await database.write([{
      sql: `insert into audit_log (${columns.join(", ")})
        select ${columns.map((_, nth) => `value ->> ${nth}`).join(", ")} from json_each(?)`,
      args: [JSON.stringify(entries.slice(first, first + 100))],
    }]);
  }
  await database.write([
    { sql: "update audit_head set position = ?, hash = ? where id = 1", args: [position, hash] },
    { sql: "update deployments set revision = ? where id = ?", args: [past + 1, deployId] },
  ]);
}
