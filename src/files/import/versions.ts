// Puts versions that were read one by one together to prompts.
import type { ImportedPrompt, ImportedVersion } from "./reader.ts";
import { toName } from "./reader.ts";

/**
 * A version of the prompt with this title. Undefined if it cannot be held, which stops the whole prompt. `order` says which
 * versions come first: without it, they stay as they were given.
 */
export type ReadVersion = {
  title: string;
  order?: number;
  version: Omit<ImportedVersion, "title" | "description"> & { description?: string } | undefined;
};

/** The prompts of versions, each with its versions in their order. A prompt of which one cannot be held is left out. */
export function byTitle(all: readonly ReadVersion[]): ImportedPrompt[] {
  const prompts = new Map<string, ReadVersion[]>();
  for (const each of all) {
    const known = prompts.get(each.title);
    if (known === undefined) prompts.set(each.title, [each]);
    else known.push(each);
  }
  return [...prompts].flatMap(([title, versions]) => {
    const isOrdered = versions.every(({ order }) => Number.isFinite(order));
    const sorted = isOrdered ? versions.toSorted((a, b) => a.order! - b.order!) : versions;
    const held = sorted.flatMap(({ version }) => version === undefined ? [] : [{ description: "", ...version, title }]);
    return held.length < versions.length ? [] : [{ name: toName(title), versions: held }];
  });
}
