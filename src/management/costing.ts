// What the cost of records follows from: the prices, and the models of the versions that they were made with.
import { createCache } from "../common/cache.ts";
import { sha256 } from "../common/ids.ts";
import type { DeploymentId } from "../common/ids.ts";
import { readMembers } from "../common/json-text.ts";
import type { Database, Row } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import { createPricing, unknownModel } from "../ledger/pricing.ts";
import type { Model, Pricing } from "../ledger/pricing.ts";
import type { Price } from "../ledger/rates.ts";
import type { Costing } from "../ledger/slices.ts";
import { priceTable } from "./prices.ts";

/** Reads all prices, and the models of the versions of these deployments, which are of one workspace. */
export async function readCosting(database: Database, deployIds: DeploymentId[]): Promise<Costing> {
  const args = { deployIds: JSON.stringify(deployIds) };
  const [{ pricing, hash }, deployments, versions] = await Promise.all([
    readPricing(database),
    database.read({
      sql: `select d.key as ordinal, y.prompt_id, w.cost_source
        from json_each(:deployIds) d cross join deployments y on y.id = d.value
          cross join workspaces w on w.id = y.workspace_id`,
      args,
    }),
    database.read({
      sql: `select prompt_id, version, llm_config from prompt_versions where prompt_id in (
        select prompt_id from deployments where id in (select value from json_each(:deployIds))
      )`,
      args,
    }),
  ]);
  // Deployments may share a prompt, and most of its versions their configuration.
  const byPrompt = new Map<string, Map<number, Model>>(), models = new Map<string, Model>();
  for (const row of versions) {
    const llmConfig = text(row, "llm_config"), model = models.get(llmConfig) ?? toModel(llmConfig);
    models.set(llmConfig, model);
    const ofPrompt = byPrompt.get(text(row, "prompt_id")) ?? new Map<number, Model>();
    byPrompt.set(text(row, "prompt_id"), ofPrompt.set(integer(row, "version"), model));
  }
  const byDeployment = new Map(
    deployments.map((row) => [integer(row, "ordinal"), byPrompt.get(text(row, "prompt_id"))]),
  );
  const prefersPrices = deployments[0]?.cost_source === "prices";
  return {
    pricing,
    modelOf: (deployment, version) => byDeployment.get(deployment)?.get(version) ?? unknownModel,
    prefersPrices,
    prices: `${hash} ${prefersPrices}`,
  };
}

const pricings = createCache<Pricing>(4); // Of an imported list, some 3,000 prices, making one takes 20 ms

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

function toModel(llmConfig: string): Model {
  const members = readMembers(llmConfig);
  const read = (name: string): string => {
    const value: unknown = JSON.parse(members.get(name) ?? "null");
    return typeof value === "string" ? value : "";
  };
  return { model: read("model"), provider: read("provider") };
}
