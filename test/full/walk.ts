// Everything that can be asked of a service, with input that makes it read as much as it can: operations of management, the
// data plane and feedback, pages of the console, and the tools, prompts and resources of agents.
import { pages } from "../../src/console/pages.ts";
import { operations } from "../../src/management/index.ts";
import type { AnyOperation } from "../../src/management/kernel/operation.ts";
import { isOptional, nounOf } from "../../src/schema/struct.ts";
import { adminToken, bearer, goodBody, promptFile } from "../helpers.ts";
import { bodyOf, headersOf } from "../mcp/agent.ts";
import { nthId, nthLabel, nthName } from "./rows.ts";
import type { Full } from "./workspace.ts";

/** A request. `route` is its path as the description of the service has it. */
export type Step = {
  name: string;
  route: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
};

type Input = Record<string, unknown>;

/** Ids by the nouns of the members of input that have them. */
const namedIn = (full: Full): Record<string, string> => ({
  Workspace: full.workspaceId,
  "API key": full.keyId,
  Prompt: full.promptId,
  Deployment: full.deployId,
  Record: full.judgedId,
  Token: full.tokenId,
  Review: full.reviewId,
  Rollout: full.rolloutId,
  Webhook: full.webhookId,
  Alert: full.alertId,
  Budget: full.budgetId,
  "Change request": full.changeId,
  Price: full.priceId,
});

const month = "2026-11", name = nthName(0), author = `${"0".repeat(127)}0`;

/** Input that operations require besides ids, or with which they read more. */
const inputOf: Record<string, (full: Full) => Input> = {
  createWorkspace: () => ({ name: "Other" }),
  deleteWorkspace: () => ({ confirm: "another name" }),
  createToken: ({ workspaceId }) => ({ name: "x", role: "viewer", workspaceId }),
  revokeApiKey: () => ({ id: nthId("key", 1) }),
  revokeToken: () => ({ id: nthId("token", 1) }),
  createPrompt: () => promptFile,
  pushPrompt: () => ({ ...promptFile, title: "New" }),
  publishPrompt: () => ({ ...promptFile, name: "new", deploy: "production" }),
  applyPrompts: ({ workspaceId }) => ({ workspaceId, prompts: [{ name: "set", ifLatest: null, ...promptFile }] }),
  renderPrompt: () => ({ version: 1, values: { name: "x" } }),
  renamePrompt: () => ({ name: "renamed" }),
  diffVersions: () => ({ from: 2, to: 3 }),
  getPromptVersion: () => ({ version: 2 }),
  listPromptContents: () => ({ versions: "all", archived: true }),
  listPrompts: () => ({ archived: true }),
  createDeployment: () => ({ name: "new", version: 1 }),
  promoteDeployment: () => ({ version: 3 }),
  setRollout: () => ({ version: 2, percent: 10 }),
  renameDeployment: () => ({ name: "renamed" }),
  readLiveVersion: () => ({ time: 0 }),
  exportWorkspaceDiagnoses: () => ({ format: "csv" }),
  deleteSession: () => ({ sessionId: "none" }),
  deleteWorkspaceSession: () => ({ sessionId: "none" }),
  showSession: () => ({ sessionId: "s" }),
  deleteDiagnosis: ({ recordId }) => ({ id: recordId }),
  listRecordFigures: ({ judgedId, recordId }) => ({ ids: `${judgedId},${recordId}` }),
  readWorkspaceStats: () => ({ interval: "hour" }),
  readStats: () => ({ interval: "hour" }),
  compareStats: ({ deployId, otherDeployId }) => ({ a: deployId, b: otherDeployId }),
  addFeedback: () => ({ name, value: nthLabel(0) }),
  removeFeedback: () => ({ name, author }),
  importFeedback: ({ judgedId }) => ({
    feedback: Array.from({ length: 500 }, (_, nth) => ({ record: judgedId, name, value: nthLabel(nth % 100) })),
  }),
  readFeedbackAgreement: () => ({ name, authors: `${author},${"0".repeat(127)}1` }),
  declareFeedback: () => ({ name, kind: "label" }),
  undeclareFeedback: () => ({ name }),
  createReview: () => ({ title: "x" }),
  createBudget: () => ({ amount: "50", per: "month" }),
  updateBudget: () => ({ amount: "60" }),
  setPrice: () => ({ model: "x", input: "2", output: "1" }),
  setPrices: () => ({ prices: [{ model: "y", input: "2", output: "1" }] }),
  readUsage: () => ({ month }),
  readCosts: () => ({ month }),
  prune: () => ({ olderThanMs: 3_650 * 86_400_000 }),
  createWebhook: () => ({ url: "https://example.com/" }),
  resendWebhookDeliveries: () => ({ since: 0 }),
  createAlert: () => ({ condition: "records<1" }),
  updateAlert: () => ({ overMs: 3_600_000 }),
  declineChangeRequest: () => ({ reason: "x" }),
};

/** In which order operations come, where those that come first would leave less to do for others. The reads come before. */
const late = [
  ...["stopRollout", "renameDeployment", "protectDeployment", "unprotectDeployment", "activateDeployment"],
  ...["deactivateDeployment", "archiveDeployment", "unarchiveDeployment", "renamePrompt", "archivePrompt"],
  ...["unarchivePrompt", "testWebhook", "resendWebhookDeliveries", "disableWebhook", "returnReviewRecord"],
  ...["finishReviewRecord", "skipReviewRecord", "undeclareFeedback", "removeFeedback", "prune"],
];
const rankOf = ({ method, id }: AnyOperation): number =>
  method === "GET" ? 0 : method === "DELETE" ? late.length + 2 : late.indexOf(id) + 2;

/** An operation with a page as long as it may be, where it has pages. */
function stepOf(full: Full, { id, method, path, input: { schema } }: AnyOperation): Step {
  const named = namedIn(full);
  const required = Object.entries(schema).flatMap(([name, struct]): [string, unknown][] => {
    const noun = nounOf(struct);
    return isOptional(struct) || noun === undefined || named[noun] === undefined ? [] : [[name, named[noun]]];
  });
  const pageSize = "limit" in schema ? [["limit", 1_000] as const] : [];
  const given = new Map([...required, ...pageSize, ...Object.entries(inputOf[id]?.(full) ?? {})]);
  const target = path.replace(/{(\w+)}/g, (_, name: string) => {
    const value = String(given.get(name));
    given.delete(name);
    return encodeURIComponent(value);
  });
  const hasBody = method === "POST" || method === "PATCH";
  const query = new URLSearchParams([...given].map(([name, value]) => [name, String(value)]));
  return {
    ...{ name: id, route: `/admin/v1${path}`, method, headers: bearer(adminToken) },
    path: `/admin/v1${target}${hasBody || given.size === 0 ? "" : `?${query}`}`,
    ...hasBody ? { body: JSON.stringify(Object.fromEntries(given)) } : {},
  };
}

export const operationSteps = (full: Full): Step[] =>
  [...operations].sort((a, b) => rankOf(a) - rankOf(b)).map((operation) => stepOf(full, operation));

/** The data plane, feedback, and what has no key. */
export function faceSteps({ key, deployId, judgedId }: Full): Step[] {
  const submit = { ...goodBody, content: { input: "x".repeat(4_000) } };
  const piece = { value: nthLabel(0), comment: "x".repeat(8_000) };
  const batch = Array.from({ length: 500 }, () => ({ ...piece, record: judgedId, name, comment: "" }));
  const at = (route: string, query = ""): Pick<Step, "route" | "path"> => ({
    route,
    path: route.replace("{id}", judgedId).replace("{name}", name) + query,
  });
  const step = (method: string, place: Pick<Step, "route" | "path">, body?: unknown): Step => ({
    ...{ name: `${method} ${place.route}`, method, ...place },
    headers: bearer(place.route === "/metrics" ? adminToken : key),
    ...body === undefined ? {} : { body: JSON.stringify(body) },
  });
  const ofDeployment = `?deployId=${deployId}`;
  return [
    step("GET", at("/v1/prompts", ofDeployment)),
    step("POST", at("/v1/prompts", ofDeployment), submit),
    step("POST", at("/v1/diagnosis", ofDeployment), submit),
    step("POST", at("/v1/diagnoses"), { records: Array.from({ length: 500 }, () => ({ deployId, ...goodBody })) }),
    step("GET", at("/v1/revisions")),
    step("GET", at("/v1/usage")),
    ...["/", "/healthz", "/readyz", "/metrics", "/openapi.json"].map((route) => step("GET", at(route))),
    step("PUT", at("/v1/diagnosis/{id}/feedback/{name}"), piece),
    step("DELETE", at("/v1/diagnosis/{id}/feedback/{name}")),
    step("POST", at("/v1/feedback"), { feedback: batch }),
  ];
}

/** Queries with which pages show more. */
const queryOf: Record<string, string> = {
  "/:workspaceId/records/:recordId/text": "?part=feedback",
  "/:workspaceId/prompts/:promptId/compare": "?from=2&to=3",
  "/:workspaceId/session": "?id=s",
  "/:workspaceId/search": "?q=a",
  "/:workspaceId/records": "?last=all",
  "/:workspaceId/sessions": "?last=all",
  "/:workspaceId/deployments/:deployId/stats": "?last=all",
  "/:workspaceId/deployments/:deployId/feedback": "?last=all",
};

/** The pages and the files of the console, for somebody who has signed in. */
export function pageSteps(full: Full, cookie: string): Step[] {
  const { size, ...ids } = full,
    params: Record<string, string> = {
      ...ids,
      ...{ recordId: full.judgedId, change: "promote", number: String(size.past) },
    };
  return pages.map(({ path: route }): Step => {
    // Keys and tokens have a page at the same parameter.
    const at = { ...params, id: route.includes("/tokens/") ? full.tokenId : full.keyId };
    const path = route.replace(/:(\w+)/g, (_, name: keyof typeof at) => encodeURIComponent(at[name]!));
    return {
      ...{ name: `page ${route}`, route: `/console${route}`, method: "GET", headers: { Cookie: cookie } },
      path: `/console${path}${queryOf[route] ?? ""}`,
    };
  });
}

/** The requests of agents. */
export function agentSteps({ promptId, deployId, otherDeployId, judgedId, workspaceId }: Full): Step[] {
  const inputs: Record<string, Input> = {
    list_prompts: { workspaceId, limit: 100 },
    get_prompt: { prompt: promptId, version: 2 },
    diff_versions: { prompt: promptId, from: 2, to: 3 },
    publish_version: { prompt: "agent", ...promptFile, workspaceId },
    list_deployments: { workspaceId, limit: 100 },
    promote: { deployment: otherDeployId, revision: 1, version: 1 },
    rollback: { deployment: otherDeployId, revision: 1 },
    stats: { deployment: deployId },
    compare: { a: deployId, b: otherDeployId },
    list_records: { workspaceId, limit: 100 },
    get_record: { record: judgedId },
    give_feedback: { record: judgedId, name, value: nthLabel(0) },
  };
  const message = (method: string, params: Input, name = method): Step => ({
    ...{ name: `agent ${name}`, route: "/mcp", method: "POST", path: "/mcp", body: bodyOf(method, params) },
    headers: { ...bearer(adminToken), "Content-Type": "application/json", ...headersOf(method, params) },
  });
  return [
    ...Object.entries(inputs).map(([name, input]) => message("tools/call", { name, arguments: input }, name)),
    ...["tools/list", "prompts/list", "resources/list", "resources/templates/list"].map((each) => message(each, {})),
    message("prompts/get", { name: otherDeployId, arguments: {} }),
    message("resources/read", { uri: `promptledger://${workspaceId}/${promptId}?version=2` }),
  ];
}
