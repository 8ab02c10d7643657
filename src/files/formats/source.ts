// A JSON value of a source, which records which of its members were read. Those that were not are left out, and are named.
import { readItems, readMembers, stringifyMembers } from "../../common/json-text.ts";
import type { Report } from "./faults.ts";
import { offsetOfPath, readYaml } from "./yaml.ts";

/** A value that holds nothing, so that leaving it out needs no word. */
const isEmpty = (json: string): boolean => /^(?:null|""|\[\s*\]|\{\s*\})$/.test(json);
const isText = (json: string): boolean => /^["\d-]/.test(json);
const textOf = (json: string): string => json.startsWith('"') ? JSON.parse(json) as string : json;

export type Source = {
  /** The JSON text of the value. */
  readonly json: string;
  /** True for objects. Any other value has no members. */
  readonly isObject: boolean;
  /** The names of all members. */
  names(): string[];
  /** True if there is a member of one of these names that is not null. */
  has(...names: string[]): boolean;
  /** The JSON text of the first of these members that is not null, and begins so if that is asked for. */
  find(names: readonly string[], start?: RegExp): string | undefined;
  /** The JSON text of a member, whatever it is. */
  anything(...names: string[]): string | undefined;
  /** A member that is a text, or a number as one. Empty if there is none. */
  text(...names: string[]): string;
  isTrue(name: string): boolean;
  /** A member that is an object. Without it, one without members. */
  object(...names: string[]): Source;
  /** The items of a member that is a list. */
  list(...names: string[]): Source[];
  /** The items of a list that are texts or numbers. */
  texts(...names: string[]): string[];
  /** The value itself as a text, if it is one or a number. */
  ownText(): string;
  /** The members that nothing has read yet, as JSON texts. */
  rest(...except: string[]): [name: string, json: string][];
  /** Reads members that say nothing of their own, such as a list of the variables that a text has. */
  skip(...names: string[]): void;
  /** The paths of what was not read, at any depth. From now on it counts as read. */
  takeUnread(): string[][];
};

/** Reads the JSON text of a value, whose members may have been read already. */
export function toSource(json: string, known?: ReadonlyMap<string, string>): Source {
  const isObject = json.startsWith("{");
  const members = known ?? (isObject ? readMembers(json) : new Map<string, string>());
  const unread = new Set([...members].flatMap(([name, text]) => isEmpty(text) ? [] : [name]));
  const inner = new Map<string, Source | Source[]>(); // what was taken of members, by their names
  let isUnread = !isObject && !isEmpty(json);

  const has = (...names: string[]) => names.some((name) => (members.get(name) ?? "null") !== "null");
  const find = (names: readonly string[], start = /^/) => {
    const name = names.find((name) => has(name) && start.test(members.get(name)!));
    if (name === undefined) return undefined;
    unread.delete(name);
    return members.get(name)!;
  };
  /** The first of names whose member begins so. */
  const nameOf = (names: readonly string[], start: string) =>
    names.find((name) => members.get(name)?.startsWith(start)) ?? names[0] ?? "";
  const list = (...names: string[]) => {
    const name = nameOf(names, "["), taken = inner.get(name);
    if (Array.isArray(taken)) return taken;
    const own = find([name], /^\[/), items = readItems(own ?? "[]").map((item) => toSource(item));
    if (own !== undefined) inner.set(name, items);
    return items;
  };
  const below = (name: string, source: Source) => source.takeUnread().map((path) => [name, ...path]);

  return {
    json,
    isObject,
    names: () => [...members.keys()],
    has,
    find,
    anything: (...names) => find(names),
    text: (...names) => textOf(find(names, /^(?:"(?!"$)|[\d-])/) ?? '""'),
    isTrue: (name) => find([name], /^(?:true|false)$/) === "true",
    object(...names) {
      const name = nameOf(names, "{"), taken = inner.get(name);
      if (taken !== undefined && !Array.isArray(taken)) return taken;
      const own = find([name], /^\{/), source = toSource(own ?? "{}");
      if (own !== undefined) inner.set(name, source);
      return source;
    },
    list,
    texts: (...names) => list(...names).map((item) => item.ownText()).filter((text) => text !== ""),
    ownText() {
      if (!isText(json)) return "";
      isUnread = false;
      return textOf(json);
    },
    rest(...except) {
      const rest = [...members].filter(([name]) => unread.has(name) && !except.includes(name));
      for (const [name] of rest) unread.delete(name);
      return rest;
    },
    skip(...names) {
      for (const name of names) unread.delete(name);
    },
    takeUnread() {
      const paths = [
        ...(isUnread ? [[]] : []),
        ...Array.from(unread, (name) => [name]),
        ...[...inner].flatMap(([name, source]) =>
          Array.isArray(source)
            ? source.flatMap((item, nth) => below(String(nth), item)).map((path) => [name, ...path])
            : below(name, source)
        ),
      ];
      isUnread = false;
      unread.clear();
      return paths;
    },
  };
}

/** A member of a configuration: its name and its JSON text, if it has one. */
export type ConfigMember = readonly [name: string, json: string | undefined];

/**
 * The configuration of members from several places of a source. Of two that differ under one name the last one stays, and `warn`
 * receives a message.
 */
export function joinMembers(members: readonly ConfigMember[], warn: (message: string) => void): [string, string][] {
  const joined = new Map<string, string>();
  for (const [name, json] of members) {
    if (json === undefined || json === "null") continue;
    const other = joined.get(name) ?? json;
    if (other !== json) warn(`${name} stands in two places, and one of them is left out`);
    joined.set(name, json);
  }
  return [...joined];
}

/** The value of YAML, and where the member of a path begins in the file. */
export type YamlSource = { value: Source; offsetOf(path: readonly string[]): number };

/** Reads YAML that is a mapping, and begins at `start` of its file. `resolve` may replace the JSON text of the whole. */
export function readYamlSource(
  yaml: string,
  start: number,
  report: Report,
  resolve: (json: string, offsetOf: YamlSource["offsetOf"]) => string = (json) => json,
): YamlSource | undefined {
  const read = readYaml(yaml, start, report);
  if (read === undefined) return undefined;
  const offsetOf = (path: readonly string[]) => start + offsetOfPath(read.document, path);
  const json = stringifyMembers(Array.from(read.members, ([name, { text }]): [string, string] => [name, text]));
  return { value: toSource(resolve(json, offsetOf)), offsetOf };
}

/** Says which members of YAML were not read. */
export function reportUnread({ value, offsetOf }: YamlSource, report: Report): void {
  for (const path of value.takeUnread()) report(offsetOf(path), `Field ${path.join(".")} is left out`, true);
}
