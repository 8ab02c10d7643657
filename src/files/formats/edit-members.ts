// Changes members in the text of a YAML or JSON document. Comments, order, quotes and white space of all others stay.
import { Document, isMap, isScalar, isSeq, Pair, YAMLMap, YAMLSeq } from "yaml";
import type { Node } from "yaml";
import { compact, indent, readItems, readMembers } from "../../common/json-text.ts";
import { canonicalJson } from "./content.ts";
import { applyEdits, partnersIn } from "./edit.ts";
import type { Edit } from "./edit.ts";
import { nameOfKey, parse, textOfNode, toKey, toNode } from "./yaml.ts";

/** JSON texts of members by name. Undefined is one that is absent. */
type Texts = readonly (readonly [name: string, text: string | undefined])[];

/** The members that differ in meaning, with what they are to be. */
export function changedMembers(before: Texts, after: Texts): Map<string, string | undefined> {
  const current = new Map(before);
  return new Map(after.filter(([name, text]) => {
    const own = current.get(name);
    return own === undefined || text === undefined ? own !== text : canonicalJson(own) !== canonicalJson(text);
  }));
}

/** A member of a mapping, or an item of a list, which has no name. `text` is JSON. */
type Item = { name?: string | undefined; text: string };

/**
 * An item in the source: it begins at `start`, its value may begin at `after`, behind a colon or a dash, and ends at `end`. What
 * follows it begins at `next`: in block style, on another line.
 */
type Entry = Record<"start" | "after" | "end" | "next", number> & { name: string | undefined; node: Node | null };

/**
 * Gives members of a document JSON texts; undefined removes one. Members of other names stay. Returns undefined if that cannot
 * be done in the form that the document has. Where it has anchors, the result may mean something else, so read it again.
 */
export function editMembers(
  source: string,
  changes: ReadonlyMap<string, string | undefined>,
  language: "yaml" | "json",
): string | undefined {
  const document = parse(source), top = document.contents as Node | null;
  const print = language === "json" ? createJsonPrinter(source) : printYaml;
  const edits: Edit[] = [];
  let isPossible = document.errors.length === 0;

  if (top === null) {
    for (const [name, text] of changes) if (text !== undefined) insertLine(source.length, "", { name, text });
  } else if (isMap(top)) {
    const entries = entriesOf(top);
    const members = new Map(entries.map(({ name, node }) => [name ?? "", textOf(node) ?? "null"]));
    for (const [name, text] of changes) {
      if (text === undefined) members.delete(name);
      else members.set(name, text);
    }
    editMap(top, entries, members);
  } else isPossible = false;
  return isPossible ? applyEdits(source, edits) : undefined;

  /** The JSON text of a node; undefined if there is none. */
  function textOf(node: Node | null): string | undefined {
    return language === "json" && node?.range ? source.slice(node.range[0], node.range[1]) : textOfNode(document, node);
  }

  function entriesOf(list: YAMLMap | YAMLSeq): Entry[] {
    const entries: Entry[] = [];
    let next = list.range![0];
    for (const item of list.items) {
      const key = isMap(list) ? (item as Pair<Node, Node | null>).key : undefined;
      const node = isMap(list) ? (item as Pair<Node, Node | null>).value : item as Node | null;
      const start = key?.range?.[0] ?? (list.flow ? node?.range?.[0] : dashFrom(next)) ?? next;
      const after = key ? source.indexOf(":", key.range?.[1]) + 1 : list.flow ? start : start + 1;
      const end = Math.max(endOf(node), after);
      next = list.flow ? end : lineEnd(end);
      entries.push({ start, after, end, next, node, name: key && nameOfKey(key) });
    }
    return entries;
  }

  /** Where the text of a node ends, without the empty lines and comments behind it. */
  function endOf(node: Node | null): number {
    if ((isMap(node) || isSeq(node)) && !node.flow) return entriesOf(node).at(-1)?.end ?? 0;
    if (!node?.range) return 0;
    const [start, end] = node.range;
    return start + source.slice(start, end).trimEnd().length;
  }

  function dashFrom(at: number): number {
    const dash = /[ \t]*-(?=\s|$)/ym;
    for (; at < source.length; at = lineEnd(at + 1)) {
      dash.lastIndex = at;
      if (dash.test(source)) return dash.lastIndex - 1;
    }
    return at;
  }

  /** Where the line ends of which a character is the last one. */
  function lineEnd(at: number): number {
    return source[at - 1] === "\n" ? at : source.indexOf("\n", at) + 1 || source.length;
  }

  function lineStart(at: number): number {
    return source.lastIndexOf("\n", at - 1) + 1;
  }

  /** Where the comment begins that describes a line: the lines right above it that are as far to the right. */
  function commentStart(line: number, margin = /^[ \t]*/.exec(source.slice(line))![0]): number {
    const above = line === 0 ? 0 : lineStart(line - 1);
    return line > above && source.startsWith(`${margin}#`, above) ? commentStart(above, margin) : line;
  }

  /** Text of the line before a place. */
  function lead(at: number): string {
    return source.slice(lineStart(at), at);
  }

  /** Indentation of every further line of an item. */
  function marginOf({ start }: Entry): string {
    return language === "json" ? /^\s*/.exec(lead(start))![0] : " ".repeat(lead(start).length);
  }

  function editMap(map: YAMLMap, entries: Entry[], members: ReadonlyMap<string, string>): void {
    const kept = entries.flatMap(({ name }, nth) => members.has(name ?? "") ? [nth] : []);
    const names = new Set(kept.map((nth) => entries[nth]!.name!));
    const items = [...kept.map((nth) => entries[nth]!.name!), ...[...members.keys()].filter((name) => !names.has(name))]
      .map((name) => ({ name, text: members.get(name)! }));
    editList(map, entries, items, items.map((_, nth) => kept[nth]));
  }

  /** Gives a list these items, each with the index of the entry that it changes, or none if it is new. */
  function editList(list: YAMLMap | YAMLSeq, entries: Entry[], items: Item[], partners: (number | undefined)[]): void {
    const isFlow = list.flow === true, kept = new Set(partners);
    let previous: Entry | undefined;
    for (const [nth, item] of items.entries()) {
      const partner = entries[partners[nth] ?? -1];
      if (partner !== undefined) {
        edit(partner, item, isFlow);
        previous = partner;
      } else if (isFlow) insertInFlow(list, entries, previous, item);
      else if (previous !== undefined) insertLine(previous.next, marginOf(entries[0]!), item);
      else insertLine(commentStart(lineStart(entries[0]!.start)), lead(entries[0]!.start), item);
    }
    for (let first = 0; first < entries.length; first++) {
      if (kept.has(first)) continue;
      let last = first;
      while (last + 1 < entries.length && !kept.has(last + 1)) last++;
      remove(entries[first - 1], entries[first]!, entries[last]!, entries[last + 1], isFlow);
      first = last;
    }
  }

  function remove(
    before: Entry | undefined,
    first: Entry,
    last: Entry,
    behind: Entry | undefined,
    isFlow: boolean,
  ): void {
    const isOnOwnLine = !isFlow && lead(first.start).trim() === "";
    if (isOnOwnLine) edits.push({ start: commentStart(lineStart(first.start)), end: last.next, text: "" });
    else if (behind !== undefined) edits.push({ start: first.start, end: behind.start, text: "" });
    else if (before !== undefined && isFlow) edits.push({ start: before.end, end: last.end, text: "" });
    else isPossible = false;
  }

  /** Writes an item on lines of its own. */
  function insertLine(at: number, indentation: string, item: Item): void {
    if (indentation.trim() !== "") isPossible = false;
    const ending = at === 0 || source[at - 1] === "\n" ? "" : "\n";
    const text = print(item, { margin: indentation, isFlow: false });
    edits.push({ start: at, end: at, text: `${ending}${indentation}${text}\n` });
  }

  /** Writes an item as its neighbours are: behind a line end, or behind as many spaces. */
  function insertInFlow(list: YAMLMap | YAMLSeq, entries: Entry[], previous: Entry | undefined, item: Item): void {
    const [first, second] = entries;
    if (first === undefined) return void (isPossible = false);
    const opening = source.slice(list.range![0] + 1, first.start);
    const gap = second === undefined ? undefined : /^\s*,(\s*)$/.exec(source.slice(first.end, second.start))?.[1];
    const space = gap ?? (opening.includes("\n") ? opening : language === "json" && isCompact(source) ? "" : " ");
    const sample = source.slice(
      ...(item.name === undefined ? [first.start, first.end] : [list.range![0], list.range![1]]),
    );
    const text = print(item, { margin: marginOf(first), isFlow: true, sample });
    if (previous === undefined) edits.push({ start: first.start, end: first.start, text: `${text},${space}` });
    else edits.push({ start: previous.end, end: previous.end, text: `,${space}${text}` });
  }

  function edit(entry: Entry, item: Item, isFlow: boolean): void {
    const { node } = entry, { text } = item, count = edits.length;
    if (canonicalJson(textOf(node) ?? "null") === canonicalJson(text)) return;
    if (editWithin(node, text) && isPossible) return;
    isPossible = true;
    edits.splice(count);
    replace(entry, item, isFlow);
  }

  /** Returns whether a node can have parts that stay. */
  function editWithin(node: Node | null, text: string): boolean {
    if (isMap(node) && text.startsWith("{")) {
      const entries = entriesOf(node), members = readMembers(text);
      if (!entries.some(({ name }) => members.has(name ?? ""))) return false;
      editMap(node, entries, members);
      return true;
    }
    if (isSeq(node) && text.startsWith("[")) {
      const entries = entriesOf(node), before = entries.map(({ node }) => textOf(node) ?? "null");
      const items = readItems(text);
      const isAlike = (a: number, b: number) => before.length === items.length || areAlike(before[a]!, items[b]!);
      const partners = partnersIn(before.map(canonicalJson), items.map(canonicalJson), isAlike);
      if (!partners.some((partner) => partner !== undefined)) return false;
      editList(node, entries, items.map((text) => ({ text })), partners);
      return true;
    }
    return false;
  }

  /** Replaces the value of an entry. */
  function replace(entry: Entry, { name, text }: Item, isFlow: boolean): void {
    const { after, end, node } = entry, existing = node ?? undefined;
    const isItem = name === undefined, from = node?.range?.[0] ?? after;
    const value = print({ name: isItem ? undefined : "x", text }, {
      ...{ margin: marginOf(entry), isFlow, existing, hasComment: /^[ \t]+#/.test(source.slice(end, lineEnd(end))) },
      sample: isCollection(text) && existing !== undefined ? source.slice(from, end) : source,
    });
    const own = isFlow && isItem ? value : value.slice(isItem ? 1 : value.indexOf(":") + 1);
    // Where the old value stood on the line of its name, the new one stands behind as many spaces.
    const isBeside = /^[ \t]*$/.test(source.slice(after, from)) && !own.startsWith("\n") &&
      (language === "json" || from > after && !(isItem && own.includes("\n")));
    edits.push(
      isBeside || isFlow && isItem ? { start: from, end, text: own.trimStart() } : { start: after, end, text: own },
    );
  }
}

/** The style of an item: `existing` is the node whose place it takes, and `sample` a text in JSON as it is to look. */
type Manner = { margin: string; isFlow: boolean; existing?: Node | undefined; hasComment?: boolean; sample?: string };

const isCollection = (text: string): boolean => /^[[{]/.test(text);
const isCompact = (source: string): boolean => !/\s/.test(source.trim().replace(/"(?:[^"\\]|\\.)*"/g, ""));

/** Returns whether an item may be another one that was changed: a mapping with a name in common, or something else of its kind. */
function areAlike(before: string, after: string): boolean {
  if (!before.startsWith("{") || !after.startsWith("{")) return isCollection(before) === isCollection(after);
  const members = readMembers(after);
  return [...readMembers(before).keys()].some((name) => members.has(name));
}

/** Writes `name: value`, or `- value`. Its further lines begin with a margin. In flow style all is on one line. */
function printYaml({ name, text }: Item, { margin, isFlow, existing, hasComment = false }: Manner): string {
  const value = toNode(text);
  if (isScalar(value) && isScalar(existing) && typeof value.value === "string" && typeof existing.value === "string") {
    value.type = existing.type!;
  }
  const list = name === undefined ? new YAMLSeq() : new YAMLMap();
  const items: unknown[] = list.items;
  items.push(name === undefined ? value : new Pair(toKey(name), value));
  list.flow = isFlow;
  const written = new Document(list).toString({
    ...{ lineWidth: 0, doubleQuotedMinMultiLineLength: Infinity },
    blockQuote: !hasComment, // a comment behind a block of text would become a part of it
  });
  return (isFlow ? written.slice(2, -3) : written.slice(0, -1)).replace(/\n(?!\n|$)/g, `\n${margin}`);
}

/** Writes `"name": value`, or a value, in the style of a sample, and with the indentation of a file. */
function createJsonPrinter(source: string) {
  const step = /\n([ \t]+)\S/.exec(source)?.[1] ?? "  ";
  return ({ name, text }: Item, { margin, sample = source }: Manner): string => {
    const colon = isCompact(sample) ? ":" : ": ";
    return `${name === undefined ? "" : `${JSON.stringify(name)}${colon}`}${valueOf(text, margin, sample)}`;
  };

  function valueOf(text: string, margin: string, sample: string): string {
    if (isCompact(sample)) return compact(text);
    const lines = indent(text).split("\n");
    if (sample.trim().includes("\n")) {
      return lines.map((line) => line.replace(/^(?: {2})+/, (own) => step.repeat(own.length / 2))).join(`\n${margin}`);
    }
    return lines.map((line) => line.trimStart()).reduce((all, line) =>
      all + (/[[{]$/.test(all) || /^[\]}]/.test(line) ? "" : " ") + line
    );
  }
}
