// The pages of the console by their paths. A page is registered only here.
import type { Page, Resource } from "./page.ts";
import { agreementPage } from "./pages/agreement.tsx";
import { alertPage } from "./pages/alert.tsx";
import { alertsPage } from "./pages/alerts.tsx";
import { auditExport, auditPage } from "./pages/audit.tsx";
import { budgetPage } from "./pages/budget.tsx";
import { budgetsPage } from "./pages/budgets.tsx";
import { changePage } from "./pages/change.tsx";
import { changesPage } from "./pages/changes.tsx";
import { comparePage } from "./pages/compare.tsx";
import { deliveryPage } from "./pages/delivery.tsx";
import { deploymentChangePage } from "./pages/deployment-change.tsx";
import { deploymentPage } from "./pages/deployment.tsx";
import { deploymentsPage } from "./pages/deployments.tsx";
import { editPage, newPromptPage } from "./pages/edit.tsx";
import { feedbackNamesPage } from "./pages/feedback-names.tsx";
import { feedbackStatsPage } from "./pages/feedback-stats.tsx";
import { eventTypesPage } from "./pages/event-types.tsx";
import { keyPage, keysPage } from "./pages/keys.tsx";
import { overviewPage } from "./pages/overview.tsx";
import { pricesPage } from "./pages/prices.tsx";
import { promptPage } from "./pages/prompt.tsx";
import { promptsPage } from "./pages/prompts.tsx";
import { recordPage, recordText } from "./pages/record.tsx";
import { recordsExport, recordsPage } from "./pages/records.tsx";
import { reviewPage } from "./pages/review.tsx";
import { reviewRecordPage } from "./pages/review-record.tsx";
import { newReviewPage, reviewsPage } from "./pages/reviews.tsx";
import { rolloutPage } from "./pages/rollout.tsx";
import { searchPage } from "./pages/search.tsx";
import { sessionPage } from "./pages/session.tsx";
import { sessionsPage } from "./pages/sessions.tsx";
import { settingsPage } from "./pages/settings.tsx";
import { statsPage } from "./pages/stats.tsx";
import { tokenPage, tokensPage } from "./pages/tokens.tsx";
import { usagePage } from "./pages/usage.tsx";
import { webhookPage } from "./pages/webhook.tsx";
import { webhooksPage } from "./pages/webhooks.tsx";
import { startPage, workspacesPage } from "./pages/workspaces.tsx";

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
