// Every operation of management, in the order in which OpenAPI and help show them. A noun is registered only here. HTTP
// routes, the OpenAPI description and the commands, local and remote, follow from this list.
import { alertChangeOperations } from "./alert-changes.ts";
import { alertOperations } from "./alerts.ts";
import { apiKeyOperations } from "./api-keys.ts";
import { applyPrompts } from "./apply.ts";
import { auditOperations } from "./audit.ts";
import { budgetOperations } from "./budgets.ts";
import { listCalls } from "./calls.ts";
import { changeRequestOperations } from "./change-request-operations.ts";
import { compareStats } from "./compare.ts";
import { readCosts } from "./costs.ts";
import { deletionOperations } from "./deletion.ts";
import { deploymentChangeOperations } from "./deployment-changes.ts";
import { deploymentOperations } from "./deployments.ts";
import { listEvents } from "./events.ts";
import { feedbackOperations } from "./feedback.ts";
import { readFeedbackAgreement } from "./feedback-agreement.ts";
import { feedbackNameOperations } from "./feedback-names.ts";
import type { AnyOperation } from "./operation.ts";
import { priceOperations } from "./prices.ts";
import { promptOperations } from "./prompts.ts";
import { listPromptContents } from "./prompt-contents.ts";
import { prune } from "./prune.ts";
import { publishPrompt } from "./publications.ts";
import { listRecordFigures } from "./record-figures.ts";
import { recordOperations } from "./records.ts";
import { reindex } from "./reindex.ts";
import { renderingOperations } from "./renderings.ts";
import { rolloutOperations } from "./rollout-operations.ts";
import { reviewRecordOperations } from "./review-records.ts";
import { reviewOperations } from "./reviews.ts";
import { sessionOperations } from "./sessions.ts";
import { readRolloutStats } from "./rollout-stats.ts";
import { statsOperations } from "./stats.ts";
import { tokenOperations } from "./tokens.ts";
import { usageOperations } from "./usage.ts";
import { verify } from "./verify.ts";
import { versionOperations } from "./versions.ts";
import { deliveryOperations } from "./webhook-deliveries.ts";
import { webhookChangeOperations } from "./webhook-changes.ts";
import { webhookOperations } from "./webhooks.ts";
import { workspaceOperations } from "./workspaces.ts";

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
