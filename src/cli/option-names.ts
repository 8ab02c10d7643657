// Refusals of operations speak of fields: here they are named as the command line calls them.
import { readUsage } from "./arguments.ts";

/** The options of fields that have other names. */
const optionsOf: Record<string, string[]> = {
  monthlyLimit: ["limit"],
  upgradeUrl: ["upgrade-url"],
  expiresAt: ["expires"],
  overlapMs: ["overlap"],
  olderThanMs: ["older-than"],
  workspaceId: ["workspace"],
  promptId: ["prompt"],
  deployId: ["deploy"],
  keyId: ["key"],
  sessionId: ["session"],
  promptVersion: ["version"],
  version: ["version", "to-version"],
  values: ["render"],
};

/** `Field monthlyLimit must be …` → `--limit must be …`, where the usage has such an option. */
export const nameOptions = (message: string, usage: string): string =>
  message.replace(
    /^Field (\w+)(?= must be )|^Missing required field (\w+)$/,
    (whole, wrong?: string, missing?: string) => {
      const label = labelOf(wrong ?? missing ?? "", usage);
      return label === undefined ? whole : wrong === undefined ? `Missing ${label}` : label;
    },
  );

function labelOf(field: string, usage: string): string | undefined {
  const names = Object.hasOwn(optionsOf, field) ? optionsOf[field]! : [field];
  const parameter = readUsage(usage).find(({ name, isOption }) => names.includes(isOption ? name : name.toLowerCase()));
  return parameter && (parameter.isOption ? `--${parameter.name}` : parameter.name);
}
