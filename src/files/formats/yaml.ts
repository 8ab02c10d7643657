// Converts YAML to JSON text, which preserves every digit of a number.
import { Document, isAlias, isMap, isScalar, isSeq, Pair, parseDocument, Scalar, YAMLMap, YAMLSeq } from "yaml";
import type { Node, YAMLError } from "yaml";
import { readItems, readMembers, stringifyMembers } from "../../common/json-text.ts";
import type { Report } from "./faults.ts";

/** A YAML document, and its top-level members as JSON text with the offset at which each begins. */
export type Yaml = { document: Document.Parsed; members: Map<string, Member> };
export type Member = { text: string; offset: number };

const maxSource = 1024 * 1024; // characters
const maxText = 4 * 1024 * 1024; // characters of JSON, because aliases can repeat a text without bound

/**
 * Parses YAML. The parser's check for duplicate names takes minutes for many names, so the writer checks them instead.
 */
export const parse = (source: string): Document.Parsed =>
  parseDocument(source, { prettyErrors: false, intAsBigInt: true, uniqueKeys: false });

/** Where the name or the item at the end of a path begins, or else the last one that there is. */
export function offsetOfPath(document: Document, path: readonly string[]): number {
  let offset = 0, node: unknown = document.contents;
  for (const name of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isSeq(node)) {
      node = node.items[Number(name)];
      offset = (node as Node | null | undefined)?.range?.[0] ?? offset;
      continue;
    }
    const pair: Pair | undefined = isMap(node) ? node.items.find(({ key }) => nameOfKey(key) === name) : undefined;
    if (pair === undefined) return offset;
    offset = (pair.key as Node).range?.[0] ?? offset;
    node = pair.value;
  }
  return offset;
}

/**
 * Reads YAML whose top level is a mapping. Returns undefined and reports why if it is something else. `start` is where
 * it begins in its file.
 */
export function readYaml(source: string, start: number, report: Report): Yaml | undefined {
  if (source.length > maxSource) {
    report(start, `The YAML must be at most ${maxSource} characters`);
    return undefined;
  }
  if (opensMore(source, maxOpen)) {
    report(start, "The YAML is nested too deep");
    return undefined;
  }
  const document = parse(source);
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) {
    const unquoted = unquotedBefore(source, error.pos[0]);
    if (unquoted !== undefined) report(start + unquoted, needsQuotes);
    else report(start + error.pos[0], sentenceOf(error));
    return undefined;
  }
  const { contents } = document;
  if (contents === null) return { document, members: new Map() };
  if (!isMap(contents)) {
    report(start + (contents.range?.[0] ?? 0), "The YAML must be a mapping of names to values");
    return undefined;
  }
  const write = createWriter(document, (offset, message) => report(start + offset, message));
  const texts = write.members(contents);
  if (texts === undefined) return undefined;
  const members = new Map<string, Member>();
  const offsets = new Map(contents.items.map(({ key }) => [nameOfKey(key), (key as Node | null)?.range?.[0] ?? 0]));
  for (const [name, text] of texts) members.set(name, { text, offset: start + (offsets.get(name) ?? 0) });
  return { document, members };
}

// The parser uses stack for each level, and Node ends where a pattern is compiled without any left.
const maxOpen = 500;

/** Determines if a text has more open brackets at once, or opens more lists or keys in one line. */
function opensMore(source: string, max: number): boolean {
  if (["- ", "? ", ": "].some((mark) => source.includes(mark.repeat(max)))) return true;
  let open = 0;
  for (const character of source) {
    if (character === "[" || character === "{") open++;
    else if ((character === "]" || character === "}") && open > 0) open--;
    if (open > max) return true;
  }
  return false;
}

const needsQuotes = 'A text that begins with a brace needs quotes, as in "{{name}}"';

/** Where a value begins with `{{` or `{%`, which YAML takes for a mapping, on the lines up to a fault. */
function unquotedBefore(source: string, at: number): number | undefined {
  const end = source.indexOf("\n", at), lines = source.slice(0, end < 0 ? undefined : end).split("\n");
  const nth = lines.findLastIndex((line) => unquoted.test(line.slice(0, maxLine)));
  if (nth < lines.length - maxFlow || nth < 0) return undefined;
  return lines.slice(0, nth).join("\n").length + (nth === 0 ? 0 : 1) + unquoted.exec(lines[nth]!)![0].length - 2;
}

const unquoted = /^\s*(?:-\s+)?(?:[\w"'. -]+:\s+)?\{[{%]/;
const maxLine = 200; // characters up to a value
const maxFlow = 20; // lines from an unquoted text to where the parser gives up

/** Writes YAML with these members, as JSON texts. Undefined ones are left out. */
export function writeYaml(members: Iterable<readonly [name: string, text: string | undefined]>): string {
  const map = new YAMLMap();
  for (const [name, text] of members) if (text !== undefined) map.add(new Pair(toKey(name), toNode(text)));
  return map.items.length === 0 ? "" : new Document(map).toString({ lineWidth: 0 });
}

/** The JSON text of a node; undefined if JSON cannot hold it. */
export const textOfNode = (document: Document, node: Node | null): string | undefined =>
  createWriter(document, () => {}).value(node);

/** The name of a member, as it is written; undefined if it is not a scalar. */
export const nameOfKey = (key: unknown): string | undefined =>
  !isScalar(key) ? undefined : typeof key.value === "string" ? key.value : key.source ?? String(key.value);

/** The node of a name. Without quotes, `<<` would name a mapping to merge. */
export const toKey = (name: string): Scalar =>
  Object.assign(new Scalar(name), name === "<<" ? { type: Scalar.QUOTE_DOUBLE } : {});

/** The node of a JSON text. Integers keep their digits. */
export function toNode(text: string): Node {
  if (text.startsWith("{")) {
    const map = new YAMLMap();
    for (const [name, value] of readMembers(text)) map.add(new Pair(toKey(name), toNode(value)));
    return map;
  }
  if (text.startsWith("[")) {
    const list = new YAMLSeq();
    for (const item of readItems(text)) list.add(toNode(item));
    return list;
  }
  return new Scalar(/^-?\d{16,}$/.test(text) ? BigInt(text) : JSON.parse(text));
}

/** The first line of the parser's message, without a period, or a clearer sentence. */
const sentenceOf = ({ code, message }: YAMLError): string =>
  code === "BLOCK_AS_IMPLICIT_KEY"
    ? 'A text with ": " in it needs quotes'
    : /call stack/.test(message)
    ? "The YAML is nested too deep"
    : message.split("\n")[0]!.replace(/[.:]$/, "");

const maxLevels = 100, maxAliases = 100; // aliases may be nested in their targets, and each lookup reads the document

/**
 * Creates functions that write nodes as JSON text. They return undefined for values that JSON cannot hold, and report
 * the first.
 */
function createWriter(document: Document, report: Report) {
  let length = 0, level = 0, aliases = 0, isGood = true;

  function refuse(at: number, message: string): undefined {
    if (isGood) report(at, message);
    isGood = false;
  }

  function value(node: Node | null): string | undefined {
    if (node === null) return "null";
    const at = node.range?.[0] ?? 0;
    // Stop at once, as aliases may repeat without end.
    if (!isGood) return undefined;
    if (level >= maxLevels) return refuse(at, `The YAML must be nested at most ${maxLevels} levels deep`);
    level++;
    const text = textOf(node, at);
    level--;
    return text;
  }

  function textOf(node: Node, at: number): string | undefined {
    if (isAlias(node)) {
      if (++aliases > maxAliases) return refuse(at, `The YAML must have at most ${maxAliases} aliases`);
      const target = node.resolve(document);
      return target === undefined ? refuse(at, `Nothing is anchored as ${node.source}`) : value(target as Node);
    }
    if (isSeq(node)) {
      const items = node.items.map((item) => value(item as Node | null));
      return items.includes(undefined) ? undefined : bounded(`[${items.join(",")}]`, at);
    }
    if (isMap(node)) {
      const texts = members(node);
      return texts && bounded(stringifyMembers(texts), at);
    }
    return isScalar(node) ? bounded(scalarText(node), at) : refuse(at, "Not a value");
  }

  function members(map: YAMLMap): [name: string, text: string][] | undefined {
    const texts = new Map<string, string>();
    const merged: Map<string, string>[] = [];
    for (const { key, value: own } of map.items) {
      const at = (key as Node | null)?.range?.[0] ?? 0, name = nameOfKey(key);
      if (name === undefined) return refuse(at, isMap(key) ? needsQuotes : "A name must be a text");
      if (texts.has(name)) return refuse(at, "Map keys must be unique");
      const text = value(own as Node | null);
      if (text === undefined) return undefined;
      if (name === "<<" && isScalar(key) && key.type === "PLAIN") {
        const sources = text.startsWith("[") ? readItems(text) : [text];
        if (!sources.every((source) => source.startsWith("{"))) return refuse(at, "Only mappings can be merged by <<");
        merged.push(...sources.map(readMembers));
      } else texts.set(name, text);
    }
    // A member of the mapping itself goes first, and then that of the first one that is merged.
    for (const source of merged) {
      for (const [name, text] of source) if (!texts.has(name)) texts.set(name, text);
    }
    return [...texts];
  }

  function bounded(text: string | undefined, at: number): string | undefined {
    length += text?.length ?? 0;
    if (length > maxText) {
      return refuse(at, `The file must be at most ${maxText} characters when it is written as JSON`);
    }
    return text ?? refuse(at, "Not a number that JSON can hold");
  }

  return { value, members };
}

const jsonNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** A number as written, if that is valid JSON. */
function scalarText({ value, source = "" }: Scalar): string | undefined {
  if (typeof value === "bigint") return jsonNumber.test(source) ? source : String(value);
  if (typeof value !== "number") return JSON.stringify(typeof value === "string" ? value.toWellFormed() : value);
  if (jsonNumber.test(source)) return source;
  return Number.isFinite(value) ? String(value) : undefined;
}
