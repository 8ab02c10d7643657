// Reads stored records again, after a change of the rule by which statistics count their tokens.
import { reindexNext } from "../../log/reindex.ts";
import { described, shape } from "../../schema/struct.ts";
import { percent } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { operation } from "../kernel/operation.ts";
import { after } from "../../common/timeout.ts";

const maxTime = 5_000; // ms per request

const Reindexing = shape("Reindexing", {
  records: described(v.count, "How many records this request read"),
  changed: described(v.count, "For how many of them statistics now count something else"),
  share: described(v.share, "How much of all records has been read, from 0 to 1"),
  isDone: described(v.boolean, "Whether all records have been read. If not, repeat the request"),
});

export const reindex = operation({
  id: "reindex",
  summary:
    "Read all records again, so that statistics count the tokens of those that were stored under an older rule. A later " +
    "request continues where the last one ended",
  method: "POST",
  path: "/reindex",
  role: "owner",
  command: "reindex",
  input: {},
  output: Reindexing,
  isLong: true,
  async run({ database, report, commit }) {
    const isOver = after(maxTime);
    const sum = { records: 0, changed: 0, share: 1 };
    for (;;) {
      const start = performance.now();
      const next = await reindexNext(database);
      if (next === undefined) return { ...sum, share: 1, isDone: true };
      if (sum.records === 0) await commit([{ action: "records.reindexed", id: null, workspaceId: null }], []);
      sum.records += next.records;
      sum.changed += next.changed;
      sum.share = next.share;
      report?.(`Read ${percent(next.share)}`);
      if (isOver()) return { ...sum, isDone: false };
      // Other requests are served meanwhile.
      await new Promise((resolve) => setTimeout(resolve, performance.now() - start));
    }
  },
});
