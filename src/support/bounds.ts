// Bounds of what people and programs can create, and of requests at once. The table in src/deploy/README.md is generated from
// them, and a test fills a workspace up to them.

export const bounds = {
  /** Per workspace. Archived ones count, because their names stay taken. */
  prompts: 10_000,
  deployments: 10_000,
  /** Per prompt. */
  versionsOfPrompt: 10_000,
  deploymentsOfPrompt: 1_000,
  /** Valid ones per workspace. */
  keys: 1_000,
  /** Valid ones per workspace, and as many for all workspaces. */
  tokens: 1_000,
  /** Valid ones per key and per token. */
  secrets: 10,
  /** Per rollout. */
  rolloutChanges: 100,
  limitsOfGuard: 10,
  /** Per workspace. */
  alerts: 100,
  budgets: 100,
  reviews: 1_000,
  statuses: 100,
  /** Per review. */
  recordsOfReview: 10_000,
  namesOfReview: 20,
  /** Per workspace, and as many for all workspaces. */
  webhooks: 100,
  secretsOfWebhook: 10,
  /** Per name of feedback. */
  labelsOfName: 100,
  /** Bytes of the labels of all names of a workspace, in JSON. */
  labelBytes: 256 * 1024,
  /** Per service. */
  prices: 20_000,
  /** Per request. */
  promptsOfSet: 200,
  deploymentsOfSet: 20,
  pricesAtOnce: 500,
  /** Lifetimes. */
  deliveryDays: 30,
  changeRequestDays: 7,
  sessionHours: 12,
  /** At once, of which one workspace, or one caller for all workspaces, gets half. */
  exports: 8,
  longRequests: 16,
  waitingReaders: 256,
  waitingChanges: 2_000,
} as const;
