// The tree of a session. An application names the parent of a record in its additional properties.
import type { RecordId } from "../../common/ids.ts";
import { readMembers, stringify } from "../../common/json-text.ts";
import type { Diagnosis } from "../../schema/ledger.ts";

/** A record as a node of the tree. */
type Node = { id: RecordId; names: string[]; parentName: string | undefined };

function toNode({ id, additional_properties: own }: Diagnosis): Node {
  const json = stringify(own);
  const members = json.startsWith("{") ? readMembers(json) : new Map<string, string>();
  const read = (name: string): string | undefined => {
    const value: unknown = JSON.parse(members.get(name) ?? "null");
    return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  };
  const names = [id, read("id"), read("span_id")].filter((name) => name !== undefined);
  return { id, names, parentName: read("parent_id") };
}

/**
 * Finds the parents of records. Missing ones are looked for among the records `before` and `after` these, in this
 * order, which are read only then. A record is not its own ancestor.
 */
export async function findParents(
  records: Diagnosis[],
  before: () => Promise<Diagnosis[]>,
  after: () => Promise<Diagnosis[]>,
): Promise<Map<RecordId, RecordId>> {
  const own = records.map(toNode);
  let nodes = own;
  const isMissing = () => {
    const known = new Set(nodes.flatMap(({ names }) => names));
    return own.some(({ parentName }) => parentName !== undefined && !known.has(parentName));
  };
  if (isMissing()) nodes = [...(await before()).map(toNode), ...nodes];
  // A step recorded on completion comes after its children.
  if (isMissing()) nodes = [...nodes, ...(await after()).map(toNode)];
  const byName = new Map<string, RecordId>();
  for (const { id, names } of nodes) for (const name of names) if (!byName.has(name)) byName.set(name, id);
  const parents = new Map<RecordId, RecordId>();
  for (const { id, parentName } of nodes) {
    const parent = byName.get(parentName ?? "");
    if (parent !== undefined && !isAncestor(parents, id, parent)) parents.set(id, parent);
  }
  return parents;
}

/** True if a record is another one, or above it in the tree. */
function isAncestor(parents: Map<RecordId, RecordId>, id: RecordId, other: RecordId): boolean {
  for (let at: RecordId | undefined = other; at !== undefined; at = parents.get(at)) if (at === id) return true;
  return false;
}
