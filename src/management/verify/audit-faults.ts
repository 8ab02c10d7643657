// Disagreements of a catalog row with the audit log.
import { described, listOf, oneOf, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { allNouns } from "../kernel/nouns.ts";
import * as v from "../kernel/values.ts";

const audited = [...allNouns].flatMap(([noun, { audit }]) => audit === undefined ? [] : noun);

export const RowFault = shape("RowFault", {
  what: described(
    oneOf("changed", "found", "added", "removed"),
    "`changed`: members of the row are not as its entries left them. `found`: the entry at the position found members " +
      "that were not as the entries before it had left them. `added`, `removed`: no entry says so",
  ),
  noun: described(
    v.text,
    `What it is a row of: ${audited.join(", ")} or version`,
  ),
  id: described(
    v.text,
    "Its id. That of a version is the id of the prompt, `:` and its number, and that of a name of feedback the id of the " +
      "workspace, `:` and the name",
  ),
  members: listOf(v.text),
  position: orNull(v.positive, "The entry that found it, or the last entry of the row. Null if it has none"),
});
export type RowFault = Infer<typeof RowFault>;
