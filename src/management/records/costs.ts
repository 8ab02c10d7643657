// Costs of a workspace's records in a month, by deployment, version, key and model.
import { decimalText } from "../../support/decimal.ts";
import type { DeploymentId, KeyId, WorkspaceId } from "../../common/ids.ts";
import { getOrAdd } from "../../support/maps.ts";
import { endOfMonth, startOfMonth } from "../../common/month.ts";
import { countCosts } from "../../tallies/costs.ts";
import type { KeyCosts } from "../../tallies/costs.ts";
import { addAllCosts, emptyCosts, totalCost } from "../../tallies/tally.ts";
import type { Costs } from "../../tallies/tally.ts";
import { usd } from "../../schema/ledger.ts";
import { described, exactly, listOf, nullable, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { reportRead } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { operation } from "../kernel/operation.ts";
import { scopeOfWorkspace, toCount } from "./record-filter.ts";
import { namesOf } from "./usage.ts";

const costs = {
  records: v.count,
  cost: described(usd, "USD, exact to the last decimal"),
  unpriced: described(v.count, "How many of the records have no cost, as they lack tokens, a model or a price"),
};
const others = exactly(costs);
const maxItems = 100;

const ofDeployment = {
  deployId: v.textAs<DeploymentId>(),
  reference: described(v.text, "The deployment as NAME@DEPLOYMENT"),
};
const largest = `the most expensive first. At most ${maxItems}`;

const MonthCosts = shape("MonthCosts", {
  workspaceId: v.textAs<WorkspaceId>(),
  month: v.month,
  ...costs,
  deployments: described(listOf(exactly({ ...ofDeployment, ...costs })), `By deployment, ${largest}`),
  versions: described(
    listOf(exactly({ ...ofDeployment, version: v.positive, ...costs })),
    `By deployment and version of its prompt, ${largest}`,
  ),
  keys: described(
    listOf(exactly({ keyId: v.textAs<KeyId>(), keyName: nullable(v.text), ...costs })),
    `By the API key that submitted the records, ${largest}`,
  ),
  models: described(
    listOf(exactly({
      model: orNull(v.text, "Null if neither the record nor its version names one"),
      ...costs,
    })),
    `By model, ${largest}. Approximate if records name more than 10000 models`,
  ),
  others: described(
    exactly({ deployments: others, versions: others, keys: others, models: others }),
    "What is in none of these lists",
  ),
});
export type MonthCosts = Infer<typeof MonthCosts>;

export const readCosts = operation({
  id: "readCosts",
  summary:
    "Show what the records of a month cost a workspace, by deployment, version, key and model. Records that were deleted or " +
    "pruned are not counted",
  method: "GET",
  path: "/workspaces/{workspaceId}/costs/{month}",
  input: { workspaceId: v.workspaceId, month: v.month },
  output: MonthCosts,
  isLong: true,
  async run(management, { workspaceId, month }) {
    const { database } = management;
    const scope = await scopeOfWorkspace(management, { workspaceId });
    const matching = await toCount(management, scope, { from: startOfMonth(month), to: endOfMonth(month) }, []);
    const { all, keys, models, otherModels } = await countCosts(database, matching, reportRead(management));
    const ofDeployment = ({ deployment }: KeyCosts) => {
      const { id: deployId, reference } = scope.deployments[deployment]!;
      return { deployId, reference };
    };
    const names = await namesOf(database, keys);
    const ranked = {
      deployments: rank(groupBy(keys, ({ deployment }) => deployment), ofDeployment),
      versions: rank(
        groupBy(keys, ({ deployment, version }) => `${deployment} ${version}`),
        (of) => ({ ...ofDeployment(of), version: of.version }),
      ),
      keys: rank(
        groupBy(keys, ({ keyId }) => keyId),
        ({ keyId }) => ({ keyId, keyName: names.get(keyId) ?? null }),
      ),
      models: rank([...models], (model) => ({ model: model || null }), otherModels),
    };
    const { deployments, versions } = ranked;
    return {
      workspaceId,
      month,
      ...toCosts(all),
      deployments: deployments.items,
      versions: versions.items,
      keys: ranked.keys.items,
      models: ranked.models.items,
      others: {
        deployments: deployments.others,
        versions: versions.others,
        keys: ranked.keys.others,
        models: ranked.models.others,
      },
    };
  },
});

/** Sums costs by a key, each with the first that has the key. */
function groupBy<K>(all: KeyCosts[], keyOf: (of: KeyCosts) => K): [of: KeyCosts, costs: Costs][] {
  const groups = new Map<K, [KeyCosts, Costs]>();
  for (const each of all) {
    const [, sum] = getOrAdd(groups, keyOf(each), (): [KeyCosts, Costs] => [each, emptyCosts()]);
    addAllCosts(sum, each.costs);
  }
  return [...groups.values()];
}

/** The most expensive items with their members, and the sum of all others. */
function rank<Of, Item>(all: [of: Of, costs: Costs][], toItem: (of: Of) => Item, others = emptyCosts()) {
  const ordered = all.map(([of, costs]) => ({ of, costs, total: totalCost(costs.cost) })).sort((a, b) =>
    a.total === b.total ? b.costs.records - a.costs.records : a.total < b.total ? 1 : -1
  );
  for (const { costs } of ordered.splice(maxItems)) addAllCosts(others, costs);
  return { items: ordered.map(({ of, costs }) => ({ ...toItem(of), ...toCosts(costs) })), others: toCosts(others) };
}

const toCosts = ({ records, cost }: Costs) => ({
  records,
  cost: decimalText(totalCost(cost)),
  unpriced: records - cost.records,
});
