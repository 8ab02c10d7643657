// Maps the options of a command to the members of its operation's input.
import type { Schema } from "../schema/struct.ts";
import { readUsage } from "./arguments.ts";
import type { Parameter } from "./arguments.ts";

/** The members of options and arguments whose own name differs. */
const membersOf: Record<string, string[]> = {
  limit: ["monthlyLimit"],
  expires: ["expiresAt"],
  overlap: ["overlapMs"],
  "older-than": ["olderThanMs"],
  "keep-records": ["keepRecordsMs"],
  "keep-calls": ["keepCallsMs"],
  "to-version": ["version"],
  version: ["promptVersion", "version"],
  render: ["values"],
  from: ["validFrom"],
  REF: ["id"],
  SESSION: ["sessionId"],
};

/** `read-only` → `readOnly`. */
export const toMember = (option: string) => option.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The members that a parameter may stand for: `--workspace` for `workspaceId`, `ID` for `id`. */
function candidatesOf({ name, isOption }: Parameter): string[] {
  if (!isOption) return membersOf[name] ?? [name.toLowerCase()];
  const member = toMember(name);
  return [...membersOf[name] ?? [], member, `${member}Id`];
}

/**
 * The member of an input that a parameter stands for. `limit` and `cursor` of a list stand for none, because they
 * select pages.
 */
export const memberOf = (parameter: Parameter, schema: Schema): string | undefined =>
  candidatesOf(parameter).find((member) => member in schema && !["limit", "cursor"].includes(member));

/** `Field monthlyLimit must be …` → `--limit must be …`, if the usage has such an option. */
export const nameOptions = (message: string, usage: string): string =>
  message.replace(
    /^Field (\w+)(?= must be )|^Missing required field (\w+)$/,
    (whole, wrong?: string, missing?: string) => {
      const member = wrong ?? missing ?? "";
      const parameter = readUsage(usage).find((each) => candidatesOf(each).includes(member));
      if (parameter === undefined) return whole;
      const label = parameter.isOption ? `--${parameter.name}` : parameter.name;
      return wrong === undefined ? `Missing ${label}` : label;
    },
  );
