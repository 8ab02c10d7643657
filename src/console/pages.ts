// The pages of the console by their paths. A page is registered only here.
import type { Page, Resource } from "./page.ts";
import { auditExport, auditPage } from "./pages/audit.tsx";
import { comparePage } from "./pages/compare.tsx";
import { deploymentChangePage } from "./pages/deployment-change.tsx";
import { deploymentPage } from "./pages/deployment.tsx";
import { deploymentsPage } from "./pages/deployments.tsx";
import { editPage, newPromptPage } from "./pages/edit.tsx";
import { keyPage } from "./pages/key.tsx";
import { keysPage } from "./pages/keys.tsx";
import { overviewPage } from "./pages/overview.ts";
import { pricesPage } from "./pages/prices.ts";
import { promptPage } from "./pages/prompt.tsx";
import { promptsPage } from "./pages/prompts.tsx";
import { recordPage, recordText } from "./pages/record.ts";
import { recordsExport, recordsPage } from "./pages/records.tsx";
import { sessionPage } from "./pages/session.ts";
import { sessionsPage } from "./pages/sessions.ts";
import { settingsPage } from "./pages/settings.ts";
import { statsPage } from "./pages/stats.ts";
import { tokenPage } from "./pages/token.ts";
import { tokensPage } from "./pages/tokens.ts";
import { usagePage } from "./pages/usage.ts";
import { startPage, workspacesPage } from "./pages/workspaces.ts";

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
  deploymentChangePage,
  deploymentPage,
  recordsPage,
  recordsExport,
  recordText,
  recordPage,
  sessionPage,
  sessionsPage,
  usagePage,
  keysPage,
  keyPage,
  tokensPage,
  tokenPage,
  pricesPage,
  settingsPage,
  auditPage,
  auditExport,
  overviewPage,
];
