// Costs of records: by deployment and version, key, and model. One scan of the index counts all of them.
import type { KeyId } from "../common/ids.ts";
import { getOrAdd } from "../support/maps.ts";
import type { Database } from "../database/database.ts";
import { findLogRange } from "../ledger/blocks.ts";
import { scanAll } from "../log/scan.ts";
import type { ScanOptions } from "../log/scan.ts";
import type { MeasuredRecord } from "../log/slices.ts";
import { addAllCosts, addCosts, emptyCosts } from "./tally.ts";
import type { Costs } from "./tally.ts";

/** Costs of a version's records under a key. `deployment` is its place in the filter. */
export type KeyCosts = { deployment: number; version: number; keyId: KeyId; costs: Costs };

/** `models` are those with the most records. A record without a known model has the empty one. */
export type CountedCosts = { all: Costs; keys: KeyCosts[]; models: Map<string, Costs>; otherModels: Costs };

const maxModels = 10_000; // counted separately: applications may name any number

/** Counts the costs of the records that match. `report` gets the progress, from 0 to 1. */
export async function countCosts(
  database: Database,
  matching: ScanOptions,
  report: (share: number) => void,
): Promise<CountedCosts> {
  const versions = new Map<number, Map<number, Map<KeyId, KeyCosts>>>();
  const otherModels = emptyCosts();
  let models = new Map<string, Costs>();
  // Groups of the previous record, which most records share.
  let deployment = NaN, version = NaN, keys = new Map<KeyId, KeyCosts>(), model = "", ofModel: Costs | undefined;

  function visit(record: MeasuredRecord): void {
    const { keyId } = record;
    if (record.deployment !== deployment || record.version !== version) {
      ({ deployment, version } = record);
      keys = getOrAdd(getOrAdd(versions, deployment, () => new Map()), version, () => new Map());
    }
    addCosts(getOrAdd(keys, keyId, () => ({ deployment, version, keyId, costs: emptyCosts() })).costs, record);
    if (ofModel === undefined || record.model !== model) {
      ({ model } = record);
      ofModel = getOrAdd(models, model, emptyCosts);
    }
    addCosts(ofModel, record);
    if (models.size > maxModels) foldModels();
  }

  /** Keeps the models with the most records. */
  function foldModels(): void {
    ofModel = undefined;
    const ordered = [...models].sort(([, a], [, b]) => b.records - a.records);
    models = new Map(ordered.slice(0, maxModels / 2));
    for (const [, costs] of ordered.slice(maxModels / 2)) addAllCosts(otherModels, costs);
  }

  const range = matching.range ?? await findLogRange(database, matching.filter);
  await scanAll(database, { ...matching, reads: { keys: true } }, range, visit, report);
  const all = emptyCosts();
  const counted = Array.from(
    versions.values(),
    (ofDeployment) => Array.from(ofDeployment.values(), (keys) => [...keys.values()]),
  )
    .flat(2);
  for (const { costs } of counted) addAllCosts(all, costs);
  return { all, keys: counted, models, otherModels };
}
