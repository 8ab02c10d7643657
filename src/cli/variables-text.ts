// How the command line says which variables of a prompt came and went.

/** The variables that applications must fill in: new ones, and those that are gone. */
export type VariableChanges = { added: readonly string[]; removed: readonly string[] };

export const compareVariables = (before: readonly string[], after: readonly string[]): VariableChanges => ({
  added: after.filter((name) => !before.includes(name)),
  removed: before.filter((name) => !after.includes(name)),
});

/** `variables since version 1: added tone, removed shop`; empty if none came or went. */
export function describeVariables(since: number, { added, removed }: VariableChanges): string {
  const changes = [["added", added], ["removed", removed]] as const;
  const described = changes.flatMap(([verb, names]) => names.length === 0 ? [] : [`${verb} ${names.join(", ")}`]);
  return described.length === 0 ? "" : `variables since version ${since}: ${described.join(", ")}`;
}
