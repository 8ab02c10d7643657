// Where a deployment can be rolled back to, by its history.
import type { DeploymentChange } from "../common/domain.ts";

type Change = Pick<DeploymentChange, "action" | "to">;

/** `previous` is where a rollback goes unless told otherwise; `served` are all versions but the live one, latest first. */
export type RollbackTargets = { live: number | undefined; previous: number | undefined; served: number[] };

/**
 * Reads a history, oldest change first. Promotions form a stack: a rollback takes away what stands above the version that it
 * goes to. Going to a version that was taken away before puts that on top.
 */
export function findRollbackTargets(history: readonly Change[]): RollbackTargets {
  const stack: number[] = [];
  const served = new Set<number>();
  for (const { action, to } of history) {
    if (typeof to !== "number") continue;
    const place = action === "rolled_back" ? stack.lastIndexOf(to, -2) : -1;
    if (place < 0) stack.push(to);
    else stack.length = place + 1;
    served.delete(to);
    served.add(to);
  }
  const live = stack.at(-1);
  return { live, previous: stack.at(-2), served: [...served].filter((version) => version !== live).reverse() };
}
