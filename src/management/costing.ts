// What the cost of records follows from: the prices, and the models of the versions that they were made with.
import type { DeploymentId } from "../common/ids.ts";
import { readMembers } from "../common/json-text.ts";
import type { Database } from "../database/database.ts";
import { integer, text, textOrNull } from "../database/row.ts";
import { createPricing } from "../ledger/pricing.ts";
import type { Model } from "../ledger/pricing.ts";
import type { Costing } from "../ledger/slices.ts";

const unknown: Model = { model: "", provider: "" };

/** Reads all prices, and the models of the versions of these deployments. */
export async function readCosting(database: Database, deployIds: DeploymentId[]): Promise<Costing> {
  const prices = await database.read({ sql: "select * from prices" });
  const versions = await database.read({
    sql: `select d.key as ordinal, v.version, v.llm_config
      from json_each(:deployIds) d cross join deployments y on y.id = d.value
      cross join prompt_versions v on v.prompt_id = y.prompt_id`,
    args: { deployIds: JSON.stringify(deployIds) },
  });
  const models = new Map(versions.map((row) => [
    `${integer(row, "ordinal")} ${integer(row, "version")}`,
    toModel(text(row, "llm_config")),
  ]));
  return {
    pricing: createPricing(prices.map((row) => ({
      provider: text(row, "provider"),
      model: text(row, "model"),
      input: text(row, "input"),
      cachedInput: textOrNull(row, "cached_input"),
      output: text(row, "output"),
      from: integer(row, "valid_from"),
    }))),
    modelOf: (deployment, version) => models.get(`${deployment} ${version}`) ?? unknown,
  };
}

function toModel(llmConfig: string): Model {
  const members = readMembers(llmConfig);
  const read = (name: string): string => {
    const value: unknown = JSON.parse(members.get(name) ?? "null");
    return typeof value === "string" ? value : "";
  };
  return { model: read("model"), provider: read("provider") };
}
