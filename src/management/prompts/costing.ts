// Inputs of the cost of records: the prices, and the models of the versions that they were made with.
import { createCache } from "../../common/cache.ts";
import { sha256 } from "../../common/ids.ts";
import type { DeploymentId, PromptId } from "../../common/ids.ts";
import { readMembers } from "../../common/json-text.ts";
import { getOrAdd } from "../../support/maps.ts";
import type { Database, Row } from "../../database/database.ts";
import { integer, text } from "../../database/row.ts";
import { workBytes } from "../../log/documents.ts";
import { createPricing, unknownModel } from "../../statistics/pricing.ts";
import type { Model, Pricing } from "../../statistics/pricing.ts";
import type { Price } from "../../statistics/rates.ts";
import type { Costing } from "../../log/slices.ts";
import type { Workspace } from "../kernel/workspaces.ts";
import { priceTable } from "./prices.ts";

/** A workspace and some of its deployments, by which records name their version. */
type CostingScope = {
  workspace: Pick<Workspace, "costSource">;
  deployments: readonly { id: DeploymentId; promptId: PromptId }[];
};

/** Reads all prices, and the models of the versions of the deployments. */
export async function readCosting(database: Database, { workspace, deployments }: CostingScope): Promise<Costing> {
  const [{ pricing, hash }, byPrompt] = await Promise.all([
    readPricing(database),
    readModels(database, deployments.map(({ id }) => id)),
  ]);
  const models = deployments.map(({ promptId }) => byPrompt.get(promptId));
  const prefersPrices = workspace.costSource === "prices";
  return {
    pricing,
    modelOf: (deployment, version) => models[deployment]?.get(version) ?? unknownModel,
    prefersPrices,
    prices: `${hash} ${prefersPrices}`,
  };
}

const pricings = createCache<Pricing>(4); // Making one of an imported list, some 3,000 prices, takes 20 ms

async function readPricing(database: Database): Promise<{ pricing: Pricing; hash: string }> {
  const rows = await database.read({ sql: "select * from prices" });
  const hash = await sha256(JSON.stringify(rows));
  let pricing = pricings.get(hash);
  if (pricing === undefined) pricings.set(hash, pricing = createPricing(rows.map(toPrice)), 1);
  return { pricing, hash };
}

function toPrice(row: Row): Price {
  const { validFrom: from, ...price } = priceTable.toItem(row);
  return { ...price, from };
}

const sliceRows = 4_096;

/**
 * The models of the versions of these deployments' prompts, by prompt and version. Configurations may be long, so they are read
 * in slices, of which nothing but the names stays.
 */
async function readModels(database: Database, deployIds: DeploymentId[]): Promise<Map<string, Map<number, Model>>> {
  const byPrompt = new Map<string, Map<number, Model>>(), models = new Map<string, Model>();
  let promptId = "", version = 0, maxRows = sliceRows;
  for (;;) {
    const args = { deployIds: JSON.stringify(deployIds), promptId, version, maxRows };
    const rows = await database.read({ sql: sliceSql, args });
    const ofSlice = new Map<string, Model>();
    for (const row of rows) {
      promptId = text(row, "prompt_id");
      version = integer(row, "version");
      // Most versions have the configuration of the one before.
      const llmConfig = text(row, "llm_config"), model = getOrAdd(ofSlice, llmConfig, () => toModel(llmConfig));
      const shared = getOrAdd(models, JSON.stringify(model), () => model);
      getOrAdd(byPrompt, promptId, () => new Map<number, Model>()).set(version, shared);
    }
    const [first] = rows, candidates = first === undefined ? 0 : integer(first, "candidates");
    if (rows.length === candidates && candidates < maxRows) return byPrompt;
    maxRows = Math.min(2 * rows.length, sliceRows); // not many more than there will be room for
  }
}

const sliceSql = `
  with slice as materialized (
    select prompt_id, version, octet_length(llm_config) as bytes from prompt_versions
    where prompt_id in (select prompt_id from deployments where id in (select value from json_each(:deployIds)))
      and (prompt_id, version) > (:promptId, :version)
    order by prompt_id, version limit :maxRows
  ), summed as (
    select *, row_number() over ordered as nth, sum(bytes) over (ordered rows unbounded preceding) as sum
    from slice window ordered as (order by prompt_id, version)
  )
  select v.prompt_id, v.version, v.llm_config, (select count(*) from slice) as candidates
  from summed s cross join prompt_versions v on v.prompt_id = s.prompt_id and v.version = s.version
  where s.nth = 1 or s.sum <= ${workBytes}
  order by s.nth`;

const maxNameLength = 200; // of a model and a provider, as records have them

function toModel(llmConfig: string): Model {
  const members = readMembers(llmConfig);
  const read = (name: string): string => {
    const value: unknown = JSON.parse(members.get(name) ?? "null");
    return typeof value === "string" && value.length <= maxNameLength ? value : "";
  };
  return { model: read("model"), provider: read("provider") };
}
