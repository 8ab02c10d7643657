// The table of bounds in src/deploy/README.md: each bound from where it is decided, and its cost as
// `npm run bench -- --scenario bounds` has measured it.
import { readFile } from "node:fs/promises";
import { bounds } from "../src/support/bounds.ts";
import { maxUrlLength } from "../src/support/outbound-url.ts";
import { defaultMaxBodyBytes } from "../src/http/settings.ts";
import { maxNames } from "../src/feedback/feedback.ts";
import { recordLimits } from "../src/feedback/feedback-state.ts";
import { keptChanges } from "../src/feedback/feedback-rows.ts";
import { keyLifetime } from "../src/ledger/idempotency-keys.ts";
import { waitingLimits } from "../src/feedback/waiting-feedback.ts";
import * as v from "../src/management/kernel/values.ts";
import { feedbackAuthor, feedbackComment, maxFeedbackItems } from "../src/schema/feedback.ts";
import { metaOf } from "../src/schema/struct.ts";
import { maxItems } from "../src/schema/submits.ts";

/** A row of the table. `steps` are the requests that read most of the subject, by their names in test/full/walk.ts. */
type Row = { subject: string; bound: string; size?: string; steps?: readonly string[] };

const number = (count: number): string => new Intl.NumberFormat("en-GB").format(count);
const per = (count: number, holder: string): string => `${number(count)} per ${holder}`;
const lengthOf = (struct: object): string => number(Number(metaOf(struct).schema.maxLength));
const mebibyte = 1024 * 1024;
const sizeOf = (bytes: number): string => bytes < mebibyte ? `${bytes / 1024} KiB` : `${bytes / mebibyte} MiB`;
const days = (ms: number): string => `${ms / 86_400_000} days`;

const body = `${sizeOf(defaultMaxBodyBytes)} (\`MAX_BODY_BYTES\`)`;
const name = `name: ${lengthOf(v.name)} characters`, note = `note: ${lengthOf(v.note)} characters`;
const half = "at once, half of them per workspace", history = "no bound, in pages";

export const rows: readonly Row[] = [
  {
    subject: "Prompts",
    bound: per(bounds.prompts, "workspace, archived ones included"),
    size: `name: ${lengthOf(v.promptName)} characters`,
    steps: ["listPrompts", "page /:workspaceId/prompts"],
  },
  {
    subject: "Versions",
    bound: per(bounds.versionsOfPrompt, "prompt"),
    size: `content: ${body}; ${note}`,
    steps: ["listPromptVersions", "listPromptContents", "getPromptVersion", "page /:workspaceId/prompts/:promptId"],
  },
  {
    subject: "Deployments",
    bound: `${per(bounds.deployments, "workspace")}, ${
      per(bounds.deploymentsOfPrompt, "prompt")
    }, archived ones included`,
    size: `name: ${lengthOf(v.deploymentName)} characters`,
    steps: ["listDeployments", "page /:workspaceId/deployments", "GET /v1/revisions"],
  },
  {
    subject: "Changes of a deployment",
    bound: history,
    size: note,
    steps: ["listDeploymentChanges", "page /:workspaceId/deployments/:deployId"],
  },
  {
    subject: "Rollouts",
    bound: `1 per deployment, with ${number(bounds.rolloutChanges)} changes; ended ones: ${history}`,
    size: `guard: ${bounds.limitsOfGuard} limits; ${note}`,
    steps: ["listRollouts", "readRolloutStats"],
  },
  {
    subject: "Change requests",
    bound: `1 open per deployment, for ${bounds.changeRequestDays} days; closed ones: ${history}`,
    size: note,
    steps: ["listChangeRequests", "page /:workspaceId/changes"],
  },
  {
    subject: "Release sets",
    bound: `${bounds.promptsOfSet} prompts with ${bounds.deploymentsOfSet} deployments each`,
    size: "16 MiB",
  },
  {
    subject: "API keys",
    bound: `${number(bounds.keys)} valid ones per workspace, each with ${bounds.secrets} valid secrets`,
    size: name,
    steps: ["listApiKeys", "page /:workspaceId/keys"],
  },
  {
    subject: "Management tokens",
    bound: `${
      number(bounds.tokens)
    } valid ones per workspace and for all workspaces, each with ${bounds.secrets} valid secrets`,
    size: name,
    steps: ["listTokens", "page /:workspaceId/tokens"],
  },
  {
    subject: "Sign-ins to the console",
    bound: `no bound: each is a cookie for ${bounds.sessionHours} hours, and one that has ended is a row for a day`,
  },
  {
    subject: "Named statuses",
    bound: per(bounds.statuses, "workspace"),
    size: "name: 40 characters",
    steps: ["getWorkspace", "page /:workspaceId/settings"],
  },
  {
    subject: "Records",
    bound: "the quota, until retention or pruning removes them",
    size: `${body}; session: ${lengthOf(v.clientName)} characters`,
    steps: [
      "listWorkspaceDiagnoses",
      "getDiagnosis",
      "page /:workspaceId/records",
      "page /:workspaceId/records/:recordId",
    ],
  },
  {
    subject: "Sessions of records",
    bound: "the quota",
    steps: ["listSessions", "showSession", "page /:workspaceId/sessions", "page /:workspaceId/session"],
  },
  { subject: "Batches of records", bound: `${maxItems} records`, steps: ["POST /v1/diagnoses"] },
  { subject: "Idempotency keys", bound: `the submits of ${days(keyLifetime)}`, size: "255 characters" },
  {
    subject: "Names of feedback",
    bound: per(maxNames, "workspace"),
    size: `64 characters; ${bounds.labelsOfName} labels, all of a workspace ${sizeOf(bounds.labelBytes)}`,
    steps: ["listFeedbackNames", "page /:workspaceId/settings/feedback"],
  },
  {
    subject: "Feedback",
    bound:
      `${recordLimits.pieces} per record, ${recordLimits.names} names, ${recordLimits.authors} authors per name; ${maxFeedbackItems} pieces per request`,
    size: `${sizeOf(recordLimits.bytes)} per record; comment: ${lengthOf(feedbackComment)} bytes; author: ${
      lengthOf(feedbackAuthor)
    } characters`,
    steps: ["showFeedback", "importFeedback", "readStats", "readFeedbackAgreement"],
  },
  {
    subject: "Changes of feedback",
    bound: `${per(recordLimits.changes, "record")}, ${per(keptChanges, "name and author")}`,
    steps: ["showFeedback"],
  },
  {
    subject: "Feedback that waits for its record",
    bound: `${per(waitingLimits.workspace, "workspace")}, ${per(waitingLimits.record, "record")}, for ${
      days(keyLifetime)
    }; a long piece counts several times`,
  },
  {
    subject: "Reviews",
    bound: per(bounds.reviews, "workspace"),
    size: `${number(bounds.recordsOfReview)} records; ${bounds.namesOfReview} names; ${name}`,
    steps: ["listReviews", "showReview", "page /:workspaceId/reviews", "page /:workspaceId/reviews/:reviewId"],
  },
  {
    subject: "Alerts",
    bound: `${per(bounds.alerts, "workspace")}; their changes: ${history}`,
    steps: ["listAlerts", "readAlert", "page /:workspaceId/alerts"],
  },
  {
    subject: "Budgets",
    bound: per(bounds.budgets, "workspace"),
    size: "10 thresholds",
    steps: ["listBudgets", "page /:workspaceId/usage/budgets"],
  },
  {
    subject: "Webhooks",
    bound: `${
      per(bounds.webhooks, "workspace")
    } and for all workspaces, each with ${bounds.secretsOfWebhook} valid secrets`,
    size: `URL: ${number(maxUrlLength)} characters`,
    steps: ["listWebhooks", "page /:workspaceId/webhooks"],
  },
  {
    subject: "Deliveries of a webhook",
    bound: `those of ${bounds.deliveryDays} days, in pages`,
    size: "response: 1,024 characters",
    steps: ["listWebhookDeliveries", "page /:workspaceId/webhooks/:webhookId"],
  },
  {
    subject: "Prices",
    bound: `${per(bounds.prices, "service")}, ${bounds.pricesAtOnce} per request`,
    size: "model: 100 characters",
    steps: ["listPrices", "page /:workspaceId/prices"],
  },
  {
    subject: "Audit log and events",
    bound: history,
    size: note,
    steps: ["listAuditEntries", "listEvents", "page /:workspaceId/audit"],
  },
  {
    subject: "Exports",
    bound: `${bounds.exports} ${half}`,
    steps: ["exportWorkspaceDiagnoses", "exportAuditEntries"],
  },
  {
    subject: "Long requests, such as statistics",
    bound: `${bounds.longRequests} ${half}`,
    steps: ["readWorkspaceStats", "compareStats", "readCosts", "page /:workspaceId"],
  },
  { subject: "Requests that wait for events", bound: `${bounds.waitingReaders} ${half}` },
  { subject: "Changes that wait for other changes", bound: `${number(bounds.waitingChanges)} ${half}` },
];

/** The cost of a request: ms, and MiB beyond those that the service had before it. */
export type Cost = { ms: number; mebibytes: number };

/** A measurement: its day, the runtime, processors and their load before it, the peak of the service in MiB, and costs by step. */
export type Figures = {
  date: string;
  runtime: string;
  cores: number;
  load: number;
  peak: number;
  steps: Record<string, Cost>;
};

export const figuresFile = new URL("bounds.json", import.meta.url);

/** The highest cost of the steps of a row, as its last two cells. */
function cellsOf({ steps = [] }: Row, figures: Figures): string[] {
  if (steps.length === 0) return ["", ""];
  const costs = steps.map((step) => {
    const cost = figures.steps[step];
    if (cost === undefined) throw new Error(`${figuresFile.pathname} has no figures of ${step}`);
    return cost;
  });
  return [Math.max(...costs.map(({ mebibytes }) => mebibytes)), Math.max(...costs.map(({ ms }) => ms))].map(number);
}

const begin = "<!-- Bounds, by npm run generate -->\n<!-- deno-fmt-ignore-start -->\n";
const end = "<!-- deno-fmt-ignore-end -->\n";

/** A document with the table between its marks. */
export async function withBounds(document: string): Promise<string> {
  const figures = JSON.parse(await readFile(figuresFile, "utf8")) as Figures;
  const { date, runtime, cores, load, peak } = figures;
  const table = [
    ["Subject", "Bound", "Size of each", "MiB", "ms"],
    ["---", "---", "---", "--:", "--:"],
    ...rows.map((row) => [row.subject, row.bound, row.size ?? "", ...cellsOf(row, figures)]),
  ].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  const measured =
    `Measured on ${date} on ${runtime}, with a heap of 256 MiB, on ${cores} processors with a load of ${load}. ` +
    `The service took at most ${peak} MiB.\n`;
  const start = document.indexOf(begin), stop = document.indexOf(end, start);
  if (start < 0 || stop < 0) throw new Error("The document has no marks for the table of bounds");
  return `${document.slice(0, start)}${begin}${table}\n${measured}${document.slice(stop)}`;
}
