// Figures of records: their tokens, models and costs, which follow from the prices and are not members of a record.
import { decimalText } from "../../support/decimal.ts";
import type { RecordId } from "../../common/ids.ts";
import { measureRecords, placeRecords } from "../../tallies/figures.ts";
import { amountOf } from "../../statistics/rates.ts";
import { usd } from "../../schema/ledger.ts";
import { described, exactly, listOf, oneOf, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { readCosting } from "../prompts/costing.ts";
import { operation } from "../kernel/operation.ts";
import { requireWorkspace } from "../kernel/workspaces.ts";

const maxIds = 100;
const ids = v.matching(
  `1 to ${maxIds} ids of records, with commas between them`,
  String.raw`^[0-9a-z_]{1,128}(,[0-9a-z_]{1,128}){0,${maxIds - 1}}$`,
);

const RecordFigures = shape("RecordFigures", {
  id: v.textAs<RecordId>(),
  model: orNull(v.text, "Null if neither the record nor its version names one"),
  tokens: orNull(
    exactly({
      prompt: orNull(v.count, "Input tokens"),
      completion: orNull(v.count, "Output tokens"),
      cached: described(v.count, "How many of the input tokens came from a cache"),
      written: described(v.count, "How many of the input tokens were written to a cache"),
    }),
    "Null if the record has no counts",
  ),
  cost: orNull(usd, "USD, exact. Null if the record lacks tokens, a model or a price"),
  costSource: orNull(
    oneOf("record", "provider", "prices"),
    "Where the cost is from: the record, what its provider reports, or the prices. Null without one",
  ),
});
export type RecordFigures = Infer<typeof RecordFigures>;

export const listRecordFigures = operation({
  id: "listRecordFigures",
  summary: "Show the tokens, the model and the cost of records. Those that do not exist are left out",
  method: "GET",
  path: "/workspaces/{workspaceId}/record-figures",
  input: { workspaceId: v.workspaceId, ids: described(ids, "Which records") },
  output: exactly({ items: listOf(RecordFigures) }),
  async run(management, { workspaceId, ids }) {
    const { database } = management;
    const [workspace, placed] = await Promise.all([
      requireWorkspace(management, workspaceId),
      placeRecords(database, workspaceId, ids.split(",") as RecordId[]),
    ]);
    const prompts = new Map(placed.map(({ deployId, promptId }) => [deployId, promptId]));
    const deployments = Array.from(prompts, ([id, promptId]) => ({ id, promptId }));
    const costing = await readCosting(database, { workspace, deployments });
    const measured = await measureRecords(database, placed, { deployIds: [...prompts.keys()], costing });
    const items = placed.flatMap(({ id, position }): RecordFigures[] => {
      const record = measured.get(position);
      if (record === undefined) return [];
      const { model, input, output, cached, written, cost, costSource } = record;
      return [{
        id,
        model: model || null,
        tokens: input === null && output === null ? null : { prompt: input, completion: output, cached, written },
        cost: cost === undefined ? null : decimalText(amountOf(cost)),
        costSource: cost === undefined ? null : costSource,
      }];
    });
    return { items };
  },
});
