// Refuses to create more of something than there may be.
import { bounds } from "../../support/bounds.ts";
import { conflict } from "../../common/errors.ts";
import { integer } from "../../database/row.ts";
import type { Store } from "./operation.ts";

/** The rows of `:id` at `:now` in SQL, their bound, and the words of a refusal. */
type Room = { rows: string; max: number; holder: string; noun: string; advice?: string; code: string };

const isValid = "revoked_at is null and coalesce(expires_at, :now + 1) > :now";

const rooms = {
  prompts: {
    rows: "prompts where workspace_id = :id",
    max: bounds.prompts,
    holder: "A workspace",
    noun: "prompts",
    code: "too_many_prompts",
  },
  versions: {
    rows: "prompt_versions where prompt_id = :id",
    max: bounds.versionsOfPrompt,
    holder: "A prompt",
    noun: "versions",
    code: "too_many_versions",
    advice: "create another prompt",
  },
  deployments: {
    rows: "deployments where workspace_id = :id",
    max: bounds.deployments,
    holder: "A workspace",
    noun: "deployments",
    code: "too_many_deployments",
  },
  deploymentsOfPrompt: {
    rows: "deployments where prompt_id = :id",
    max: bounds.deploymentsOfPrompt,
    holder: "A prompt",
    noun: "deployments",
    code: "too_many_deployments",
  },
  keys: {
    rows: `api_keys where workspace_id = :id and ${isValid}`,
    max: bounds.keys,
    holder: "A workspace",
    noun: "valid API keys",
    code: "too_many_keys",
    advice: "revoke one first",
  },
  tokens: {
    rows: `management_tokens where workspace_id is :id and ${isValid}`,
    max: bounds.tokens,
    holder: "A workspace",
    noun: "valid tokens",
    code: "too_many_tokens",
    advice: "revoke one first",
  },
  keySecrets: {
    rows: "api_key_secrets where api_key_id = :id and coalesce(expires_at, :now + 1) > :now",
    max: bounds.secrets,
    holder: "An API key",
    noun: "valid secrets",
    code: "too_many_secrets",
    advice: "rotate it without an overlap",
  },
  tokenSecrets: {
    rows: "management_token_secrets where token_id = :id and coalesce(expires_at, :now + 1) > :now",
    max: bounds.secrets,
    holder: "A token",
    noun: "valid secrets",
    code: "too_many_secrets",
    advice: "rotate it without an overlap",
  },
  rolloutChanges: {
    rows: `audit_log where target_id = (select deployment_id from rollouts where id = :id)
      and action = 'deployment.rollout_changed' and after ->> '$.rollout.id' = :id`,
    max: bounds.rolloutChanges,
    holder: "A rollout",
    noun: "changes",
    code: "too_many_changes",
    advice: "stop it and start another",
  },
  alerts: {
    rows: "alerts where workspace_id = :id",
    max: bounds.alerts,
    holder: "A workspace",
    noun: "alerts",
    code: "too_many_alerts",
    advice: "delete one first",
  },
  budgets: {
    rows: "budgets where workspace_id = :id",
    max: bounds.budgets,
    holder: "A workspace",
    noun: "budgets",
    code: "too_many_budgets",
    advice: "delete one first",
  },
  reviews: {
    rows: "reviews where workspace_id = :id",
    max: bounds.reviews,
    holder: "A workspace",
    noun: "reviews",
    code: "too_many_reviews",
    advice: "delete one first",
  },
  prices: {
    rows: "prices where :id is null",
    max: bounds.prices,
    holder: "The service",
    noun: "prices",
    code: "too_many_prices",
    advice: "remove some first",
  },
} as const satisfies Record<string, Room>;

/** Throws if there is no room for more of something. `id` names its holder, and is null for what belongs to all workspaces. */
export async function requireRoom(
  { database, clock }: Store,
  name: keyof typeof rooms,
  id: string | null,
  added = 1,
): Promise<void> {
  if (added === 0) return;
  const { rows, max, holder, noun, advice, code }: Room = rooms[name];
  const [row] = await database.read({
    sql: `select count(*) as rows from (select 1 from ${rows} limit :max)`,
    args: { id, max, ...rows.includes(":now") && { now: clock() } },
  });
  if (integer(row!, "rows") + added <= max) return;
  throw conflict(`${holder} may have at most ${max} ${noun}${advice === undefined ? "" : `: ${advice}`}`, code);
}
