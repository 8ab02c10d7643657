// Puts versions that were read one by one together to prompts.
import type { ImportedPrompt, ImportedVersion } from "./reader.ts";

/** A version of a prompt. Undefined if it cannot be held, which stops the whole prompt. */
type Read = { name: string; version: ImportedVersion | undefined };

/** The prompts of versions, each with its versions by their numbers. A prompt of which one cannot be held is left out. */
export function byName(all: readonly Read[]): ImportedPrompt[] {
  const prompts = new Map<string, (ImportedVersion | undefined)[]>();
  for (const { name, version } of all) prompts.set(name, [...prompts.get(name) ?? [], version]);
  return [...prompts].flatMap(([name, versions]) => {
    if (versions.includes(undefined)) return [];
    // Versions without numbers, such as commits, stay in the order in which they were given.
    const sorted = (versions as ImportedVersion[]).toSorted((a, b) => Number(a.number) - Number(b.number) || 0);
    return [{ name, versions: sorted }];
  });
}
