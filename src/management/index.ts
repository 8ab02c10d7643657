// Every operation of management, in the order in which OpenAPI and help show them. A noun is registered only here. HTTP
// routes, the OpenAPI description and the commands, local and remote, follow from this list.
import { alertChangeOperations } from "./events/alert-changes.ts";
import { alertOperations } from "./events/alerts.ts";
import { apiKeyOperations } from "./access/api-keys.ts";
import { applyPrompts } from "./release/apply.ts";
import { auditOperations } from "./events/audit.ts";
import { budgetOperations } from "./money/budgets.ts";
import { listCalls } from "./records/calls.ts";
import { changeRequestOperations } from "./deployments/change-request-operations.ts";
import { compareStats } from "./records/compare.ts";
import { readCosts } from "./records/costs.ts";
import { deletionOperations } from "./access/deletion.ts";
import { deploymentChangeOperations } from "./deployments/deployment-changes.ts";
import { deploymentOperations } from "./deployments/deployments.ts";
import { listEvents } from "./events/events.ts";
import { feedbackOperations } from "./feedback/feedback.ts";
import { readFeedbackAgreement } from "./feedback/feedback-agreement.ts";
import { feedbackNameOperations } from "./terms/feedback-names.ts";
import type { AnyOperation } from "./kernel/operation.ts";
import { priceOperations } from "./prompts/prices.ts";
import { promptOperations } from "./prompts/prompts.ts";
import { listPromptContents } from "./prompts/prompt-contents.ts";
import { prune } from "./records/prune.ts";
import { publishPrompt } from "./release/publications.ts";
import { listRecordFigures } from "./records/record-figures.ts";
import { recordOperations } from "./records/records.ts";
import { reindex } from "./records/reindex.ts";
import { renderingOperations } from "./prompts/renderings.ts";
import { rolloutOperations } from "./deployments/rollout-operations.ts";
import { reviewRecordOperations } from "./feedback/review-records.ts";
import { reviewOperations } from "./feedback/reviews.ts";
import { sessionOperations } from "./records/sessions.ts";
import { readRolloutStats } from "./records/rollout-stats.ts";
import { statsOperations } from "./records/stats.ts";
import { tokenOperations } from "./access/tokens.ts";
import { usageOperations } from "./records/usage.ts";
import { verify } from "./verify/verify.ts";
import { versionOperations } from "./prompts/versions.ts";
import { deliveryOperations } from "./events/webhook-deliveries.ts";
import { webhookChangeOperations } from "./events/webhook-changes.ts";
import { webhookOperations } from "./events/webhooks.ts";
import { workspaceOperations } from "./kernel/workspaces.ts";

/** Operations that the description groups under a tag with a sentence about it. */
export type Group = { tag: string; about: string; operations: readonly AnyOperation[] };

export const groups = [
  {
    tag: "Workspaces",
    about: "Tenants. Each has its own keys, prompts and deployments, and a monthly quota.",
    operations: [...workspaceOperations, ...deletionOperations],
  },
  { tag: "Keys", about: "API keys. A secret is shown once, when it is created.", operations: apiKeyOperations },
  {
    tag: "Tokens",
    about: "Management tokens, each with a role. A secret is shown once, when it is created.",
    operations: tokenOperations,
  },
  {
    tag: "Prompts",
    about: "Prompts and their versions, which never change.",
    operations: [
      ...promptOperations,
      ...versionOperations,
      ...renderingOperations,
      publishPrompt,
      listPromptContents,
      applyPrompts,
    ],
  },
  {
    tag: "Deployments",
    about: "Each serves one version of a prompt to applications, and has a history.",
    operations: [...deploymentOperations, ...deploymentChangeOperations, ...rolloutOperations],
  },
  {
    tag: "Change requests",
    about: "Changes of deployments that wait for the approval of another person.",
    operations: changeRequestOperations,
  },
  {
    tag: "Records",
    about: "What applications submitted, and statistics of it.",
    operations: [
      ...recordOperations,
      listRecordFigures,
      ...sessionOperations,
      ...statsOperations,
      compareStats,
      readRolloutStats,
    ],
  },
  {
    tag: "Feedback on records",
    about: "What people and programs thought of records.",
    operations: [...feedbackOperations, readFeedbackAgreement, ...feedbackNameOperations],
  },
  {
    tag: "Reviews",
    about: "Records that people judge one after the other. Two people do not get the same one at once.",
    operations: [...reviewOperations, ...reviewRecordOperations],
  },
  {
    tag: "Budgets",
    about: "What records may cost in a day or a month before an event says so. A budget refuses no request.",
    operations: budgetOperations,
  },
  {
    tag: "Prices",
    about: "What models cost, from which the cost of records follows.",
    operations: priceOperations,
  },
  {
    tag: "Ledger",
    about: "Calls, usage and costs, and the verification that the ledger balances.",
    operations: [listCalls, ...usageOperations, readCosts, prune, verify, reindex],
  },
  { tag: "Audit", about: "The audit log: who changed what. Entries are never modified.", operations: auditOperations },
  { tag: "Events", about: "What has changed, in order, for programs that follow it.", operations: [listEvents] },
  {
    tag: "Webhooks",
    about: "Addresses to which the service sends events, and the outcome of each delivery.",
    operations: [...webhookOperations, ...webhookChangeOperations, ...deliveryOperations],
  },
  {
    tag: "Alerts",
    about: "Conditions on records and calls. The service checks them each minute, and makes an event when one fires.",
    operations: [...alertOperations, ...alertChangeOperations],
  },
] as const satisfies readonly Group[];

/** The type of every operation. */
export type Operations = (typeof groups)[number]["operations"][number];

export const operations: readonly AnyOperation[] = groups.flatMap(({ operations }): readonly AnyOperation[] =>
  operations
);
