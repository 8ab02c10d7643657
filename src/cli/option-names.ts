// Maps the options of a command to the members of its operation's input.
import { check, hasType } from "../schema/struct.ts";
import type { Schema } from "../schema/struct.ts";
import { flagsOf, readUsage } from "./arguments.ts";
import type { Arguments, Parameter } from "./arguments.ts";

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
function candidatesOf({ name, isOption }: Pick<Parameter, "name" | "isOption">): string[] {
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

/** `--name`, or `ID` for an argument without an option. */
const labelOf = ({ name, isOption }: Pick<Parameter, "name" | "isOption">) => isOption ? `--${name}` : name;

/** Throws if an argument does not fit the member of the input that it stands for. Nothing is opened yet. */
export function checkMembers(usage: string, schema: Schema, args: Arguments): void {
  for (const parameter of readUsage(usage)) {
    const { name, isRepeatable } = parameter;
    const member = name === "cursor" ? name : memberOf(parameter, schema);
    const struct = member === undefined || isRepeatable ? undefined : schema[member];
    const value = args.findNumber(name) ?? args.findText(name);
    if (struct === undefined || value === undefined || value === "" && hasType(struct, "null")) continue;
    check(struct, value, labelOf(parameter));
  }
}

/**
 * Words a message of the service for a command: `Field monthlyLimit must be …` → `--limit must be …`, and `To publish
 * anyway, set force` → `use --force`, if the usage has such an option. A name in place of an id gets a hint.
 */
export function wordForCommand(message: string, usage: string): string {
  const flags = flagsOf(usage).map((name) => ({ name, isOption: true }));
  const parameters = [...readUsage(usage), ...flags];
  const find = (member: string): string | undefined => {
    const parameter = parameters.find((each) => candidatesOf(each).includes(member));
    return parameter && labelOf(parameter);
  };
  const named = message
    .replace(/^Field (\w+)(?= must be )/, (whole, member: string) => find(member) ?? whole)
    .replace(/^Missing required field (\w+)$/, (whole, member: string) => {
      const label = find(member);
      return label === undefined ? whole : `Missing ${label}`;
    })
    .replace(/(?<=[,:] )set (\w+)$/, (whole, member: string) => {
      const label = find(member);
      return label === undefined ? whole : `use ${label}`;
    });
  return named + hintOn(named);
}

/** Says how to name what was not found, if a name was given that cannot be one. */
function hintOn(message: string): string {
  const [, noun, name = ""] = /^(Workspace|Deployment) (.*) not found$/s.exec(message) ?? [];
  if (noun === "Workspace" && !name.startsWith("ws_")) return ". Give its id, ws_…: see workspace list";
  if (noun === "Deployment" && !name.startsWith("dep_") && !name.includes("@")) {
    return ". Give its id, or its reference, NAME@DEPLOYMENT: see deploy list";
  }
  return "";
}
