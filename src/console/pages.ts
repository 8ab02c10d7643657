// The pages of the console by their paths. A page is registered only here.
import type { Page, Resource } from "./frame/page.ts";
import { agreementPage } from "./records/agreement.tsx";
import { alertPage } from "./events/alert.tsx";
import { alertsPage } from "./events/alerts.tsx";
import { auditExport, auditPage } from "./events/audit.tsx";
import { budgetPage } from "./money/budget.tsx";
import { budgetsPage } from "./money/budgets.tsx";
import { changePage } from "./deployments/change.tsx";
import { changesPage } from "./deployments/changes.tsx";
import { comparePage } from "./records/compare.tsx";
import { deliveryPage } from "./events/delivery.tsx";
import { deploymentChangePage } from "./deployments/deployment-change.tsx";
import { deploymentPage } from "./deployments/deployment.tsx";
import { deploymentsPage } from "./deployments/deployments.tsx";
import { editPage, newPromptPage } from "./prompts/edit.tsx";
import { feedbackNamesPage } from "./records/feedback-names.tsx";
import { feedbackStatsPage } from "./records/feedback-stats.tsx";
import { eventTypesPage } from "./events/event-types.tsx";
import { keyPage, keysPage } from "./access/keys.tsx";
import { overviewPage } from "./overview.tsx";
import { pricesPage } from "./money/prices.tsx";
import { promptPage } from "./prompts/prompt.tsx";
import { promptsPage } from "./prompts/prompts.tsx";
import { recordPage, recordText } from "./records/record.tsx";
import { recordsExport, recordsPage } from "./records/records.tsx";
import { reviewPage } from "./records/review.tsx";
import { reviewRecordPage } from "./records/review-record.tsx";
import { newReviewPage, reviewsPage } from "./records/reviews.tsx";
import { rolloutPage } from "./deployments/rollout.tsx";
import { searchPage } from "./prompts/search.tsx";
import { sessionPage } from "./records/session.tsx";
import { sessionsPage } from "./records/sessions.tsx";
import { settingsPage } from "./access/settings.tsx";
import { statsPage } from "./records/stats.tsx";
import { tokenPage, tokensPage } from "./access/tokens.tsx";
import { usagePage } from "./money/usage.tsx";
import { webhookPage } from "./events/webhook.tsx";
import { webhooksPage } from "./events/webhooks.tsx";
import { startPage, workspacesPage } from "./access/workspaces.tsx";

/** A path with a word in the place of a parameter comes before the one with the parameter. */
export const pages: readonly (Page | Resource)[] = [
  startPage,
  workspacesPage,
  promptsPage,
  newPromptPage,
  editPage,
  comparePage,
  promptPage,
  deploymentsPage,
  statsPage,
  feedbackStatsPage,
  rolloutPage,
  deploymentChangePage,
  deploymentPage,
  changesPage,
  changePage,
  agreementPage,
  recordsPage,
  recordsExport,
  recordText,
  recordPage,
  reviewsPage,
  newReviewPage,
  reviewRecordPage,
  reviewPage,
  sessionPage,
  sessionsPage,
  usagePage,
  budgetsPage,
  budgetPage,
  alertsPage,
  alertPage,
  keysPage,
  keyPage,
  tokensPage,
  tokenPage,
  webhooksPage,
  webhookPage,
  deliveryPage,
  pricesPage,
  settingsPage,
  feedbackNamesPage,
  auditPage,
  auditExport,
  eventTypesPage,
  searchPage,
  overviewPage,
];
