// Requests to a ledger without the router, so that those sent in one tick are sure to share a group.
import { hashApiKey } from "../../src/common/ids.ts";
import { classifyErrors } from "../../src/database/database.ts";
import type { Database } from "../../src/database/database.ts";
import type { Read, Submit } from "../../src/ledger/admission.ts";
import type { GroupLimits } from "../../src/ledger/waiting-room.ts";
import { createLedger } from "../../src/ledger/ledger.ts";
import type { Tenant, World } from "../helpers.ts";

export const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

export const ledgerOf = (world: World, limits: Partial<GroupLimits> = {}) =>
  createLedger(world.database, () => world.now, limits);

type Caller = Pick<Tenant, "key" | "workspaceId" | "deployId">;

export const readBy = async ({ key, workspaceId, deployId }: Caller): Promise<Read> => ({
  operation: "read",
  keyHash: await hashApiKey(key),
  workspaceId,
  deployId,
});

/** A submit, with an idempotency key if one is given. The fingerprint is the deployment's id. */
export const submitBy = async (
  { key, workspaceId, deployId }: Caller,
  idempotencyKey?: string,
  sessionId = "s",
): Promise<Submit> => ({
  operation: "submit",
  keyHash: await hashApiKey(key),
  workspaceId,
  deployId,
  record: { sessionId, status: 1, measures: "null,null,null", document: JSON.stringify({ sessionId }) },
  idempotency: idempotencyKey === undefined ? undefined : { key: idempotencyKey, fingerprint: deployId },
});

export type Loss = { times: number; failure?: "retryable" | "indeterminate"; meanwhile?: () => unknown };

/**
 * A database that loses the replies to the next `times` writes. They take effect, unless `failure` is `retryable`.
 * `meanwhile` runs before each loss.
 */
export function losingReplies(database: Database, loss: Loss): Database {
  const lost = new Error("The reply was lost");
  return classifyErrors({
    ...database,
    write: async (statements) => {
      if (loss.times === 0) return database.write(statements);
      loss.times--;
      if (loss.failure !== "retryable") await database.write(statements);
      await loss.meanwhile?.();
      throw lost;
    },
  }, (error) => error === lost ? loss.failure ?? "indeterminate" : "rejected");
}
