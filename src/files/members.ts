// Reads the members of a mapping, and reports those that are not what they must be.
import type { Report } from "./faults.ts";
import type { Member } from "./yaml.ts";

/** The members of a mapping by name. Each reader returns undefined for one that is missing, or that it reports. */
export type Members = {
  text(name: string): string | undefined;
  /** JSON text of a mapping, or of a list. */
  mapping(name: string): string | undefined;
  list(name: string): string | undefined;
  /** JSON text of anything. */
  anything(name: string): string | undefined;
  /** Where a member begins. */
  offsetOf(name: string): number;
  /** Reports the members with none of these names. */
  refuseOthers(names: readonly string[]): void;
  /** Whether nothing was reported. */
  isGood(): boolean;
};

export function readMembersOf(members: ReadonlyMap<string, Member>, report: Report): Members {
  let isGood = true;
  const refuse = (name: string, message: string): undefined => {
    report(offsetOf(name), message);
    isGood = false;
  };
  const offsetOf = (name: string) => members.get(name)?.offset ?? 0;
  const anything = (name: string) => members.get(name)?.text;
  const startingWith = (start: string, what: string) => (name: string) => {
    const text = anything(name);
    return text === undefined || text.startsWith(start) ? text : refuse(name, `Field ${name} must be ${what}`);
  };
  const asText = startingWith('"', "a text");
  return {
    text(name) {
      const text = asText(name);
      return text === undefined ? undefined : JSON.parse(text) as string;
    },
    mapping: startingWith("{", "a mapping"),
    list: startingWith("[", "a list"),
    anything,
    offsetOf,
    refuseOthers(names) {
      for (const name of members.keys()) {
        if (!names.includes(name)) refuse(name, `Unknown field ${name}. Allowed: ${names.join(", ")}`);
      }
    },
    isGood: () => isGood,
  };
}
