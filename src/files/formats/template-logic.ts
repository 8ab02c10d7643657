// Template languages of other tools: their variables, texts, comments and logic, and how a template is written in ours. What is
// more than a variable has no place in a prompt here: it is reported with its place.
import { isVariable, soleVariable } from "../../support/template.ts";
import type { Report } from "./faults.ts";
import { maskSecrets } from "./secrets.ts";

/**
 * A template language. `helicone` has typed variables (`{{hc:name:type}}`), `editor` has those of prompt files of editors
 * (`${input:name}`), and `plain` has none: each of its texts is sent as it is.
 */
export type Language = "mustache" | "handlebars" | "jinja" | "f-string" | "helicone" | "editor" | "plain";

type Part =
  | { kind: "text"; text: string }
  | { kind: "variable"; name: string; type?: string | undefined }
  | { kind: "comment" }
  | { kind: "logic"; fault?: string };

/** A part of a template, as it is written there from `index` on. */
type Piece = Part & { index: number; source: string };

/** A reading of a template, up to `at`. */
type Scan = {
  text: string;
  pieces: Piece[];
  at: number;
  /** Adds the part that ends before `end`. */
  add(part: Part, end: number): void;
};

const readers: Record<Language, (scan: Scan) => void> = {
  mustache: readMustache,
  handlebars: readHandlebars,
  jinja: readJinja,
  "f-string": readFormatString,
  helicone: readBy(/\{\{hc:([\p{L}\p{N}_.$-]+)(?::([\w-]+))?\}\}|\{\{hcp:[^{}]*\}\}/gu),
  editor: readBy(/\$\{input:([\p{L}\p{N}_.$-]+)(?::[^}\n]*)?\}/gu),
  plain: (scan) => addText(scan, scan.text.length),
};

/** The parts of a template. */
export function readTemplate(text: string, language: Language): Piece[] {
  const pieces: Piece[] = [];
  const scan: Scan = {
    text,
    pieces,
    at: 0,
    add(part, end) {
      pieces.push({ ...part, index: scan.at, source: text.slice(scan.at, end) });
      scan.at = end;
    },
  };
  readers[language](scan);
  addText(scan, text.length);
  return pieces;
}

const addText = (scan: Scan, end: number, text = scan.text.slice(scan.at, end)): void => {
  if (end > scan.at) scan.add({ kind: "text", text }, end);
};

const maxReported = 20; // of a text

export type RewriteOptions = {
  report: Report;
  /** Keeps logic as text, and does not report it. */
  keepsLogic?: boolean | undefined;
  /** Receives the type that a language gives to a variable. */
  declare?: ((name: string, type: string) => void) | undefined;
};

/**
 * A template in our language: its variables in double braces, and all other double braces in quotes. Reports each tag that is
 * more than a variable, and with a warning comments, which are dropped. Returns undefined if there is such a tag.
 */
export function rewrite(text: string, language: Language, options: RewriteOptions): string | undefined {
  const { report, keepsLogic = false, declare } = options;
  const pieces = readTemplate(text, language);
  const logic = pieces.filter(({ kind }) => kind === "logic"),
    comments = pieces.filter(({ kind }) => kind === "comment");
  if (comments.length > 0) {
    const more = comments.length === 1 ? "" : `, and ${comments.length - 1} more like it`;
    report(comments[0]!.index, `The comment ${excerpt(comments[0]!.source)} is left out${more}`, true);
  }
  if (!keepsLogic) {
    for (const piece of logic.slice(0, maxReported)) report(piece.index, faultOf(piece));
    const rest = logic.length - maxReported;
    if (rest > 0) report(logic[maxReported]!.index, `${rest} more are more than a variable`);
    if (logic.length > 0) return undefined;
  }
  let written = "", literal = "";
  for (const piece of pieces) {
    const open = piece.kind === "text" && isBraced(language) ? unclosed.exec(piece.source) : null;
    if (open !== null && piece.kind === "text" && piece.text === piece.source) {
      report(piece.index + open.index, `${excerpt(open[0])} is not closed, so that it is a text`, true);
    }
    if (piece.kind === "text") literal += piece.text;
    else if (piece.kind === "logic") literal += piece.source;
    else if (piece.kind === "variable") {
      written += `${quote(literal)}${soleVariable(piece.source) === piece.name ? piece.source : `{{${piece.name}}}`}`;
      literal = "";
      if (piece.type !== undefined) declare?.(piece.name, piece.type);
    }
  }
  return written + quote(literal);
}

const unclosed = /\{\{[ \t]*[\p{L}_$][\p{L}\p{N}_.$-]*/u;
const isBraced = (language: Language): boolean => ["mustache", "handlebars", "jinja"].includes(language);

/** Double braces in quotes: in a literal text none of them begins a variable. */
const quote = (text: string): string => text.replace(/\{\{(?!\{)/g, '{{"{{"}}');

const faultOf = (piece: Piece): string =>
  piece.kind === "logic" && piece.fault !== undefined
    ? piece.fault
    : `${excerpt(piece.source)} is more than a variable`;

const excerpt = (tag: string): string => {
  const visible = maskSecrets(tag);
  return visible.length > 60 ? `${visible.slice(0, 60).toWellFormed()}…` : visible;
};

/** Reads a language in which a pattern is a variable if it has a name, and a second group for its type. */
function readBy(pattern: RegExp): (scan: Scan) => void {
  return (scan) => {
    for (const { index, 0: source, 1: name, 2: type } of scan.text.matchAll(pattern)) {
      addText(scan, index);
      scan.add(name === undefined ? { kind: "logic" } : { kind: "variable", name, type }, index + source.length);
    }
  };
}

/** Finds where tags end. A text that has no such end is searched once, so that time grows with the text alone. */
function endFinder(text: string) {
  const endless = new Set<string>();
  return (close: string, from: number, respectsQuotes = false): number => {
    if (endless.has(close)) return -1;
    const plain = text.indexOf(close, from);
    if (plain < 0) endless.add(close);
    if (plain < 0 || !respectsQuotes || !/["']/.test(text.slice(from, plain))) return plain;
    for (let at = from; at < text.length; at++) {
      if (text.startsWith(close, at)) return at;
      const [quoted] = /^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/.exec(text.slice(at, at + 500)) ?? [];
      at += (quoted ?? " ").length - 1;
    }
    return plain;
  };
}

/** Removes white space at the end of the text before. */
function trimBefore({ pieces }: Scan): void {
  const last = pieces.at(-1);
  // A text that is written as a tag keeps its white space.
  if (last?.kind === "text" && last.text === last.source) last.text = last.text.trimEnd();
}

/** Leaves out white space that follows. */
const skipSpace = (scan: Scan): void => addText(scan, scan.at + /^\s*/.exec(scan.text.slice(scan.at))![0].length, "");

/** Finds matches of patterns. A text without a further one is searched once. */
function patternFinder(text: string) {
  const endless = new Set<string>();
  return (pattern: string, from: number): RegExpExecArray | null => {
    if (endless.has(pattern)) return null;
    const expression = new RegExp(pattern, "g");
    expression.lastIndex = from;
    const match = expression.exec(text);
    if (match === null) endless.add(pattern);
    return match;
  };
}

const maxIndent = 200;

/** Adds a tag that gives no text. One that is alone on its line takes the line with it. */
function addAlone(scan: Scan, part: Part, end: number): void {
  const { text, at, pieces } = scan, last = pieces.at(-1);
  const nextLine = /^[ \t]*(?:\n|$)/.exec(text.slice(end, end + maxIndent));
  const isAlone = nextLine !== null && /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, at - maxIndent), at));
  if (isAlone && last?.kind === "text") last.text = last.text.replace(/[ \t]+$/, "");
  scan.add(part, end);
  if (isAlone) addText(scan, end + nextLine[0].length, "");
}

function readMustache(scan: Scan): void {
  const { text } = scan, endOf = endFinder(text);
  let open = "{{", close = "}}";
  for (let at = text.indexOf(open); at >= 0; at = text.indexOf(open, scan.at)) {
    const [quoted, braces] = /^\{\{[ \t]*"(\{\{|\}\})"[ \t]*\}\}/.exec(text.slice(at, at + maxIndent)) ?? [];
    if (quoted !== undefined && open === "{{") {
      // Our own spelling of braces, for files of tools that have none.
      addText(scan, at);
      addText(scan, at + quoted.length, braces);
      continue;
    }
    const isTriple = open === "{{" && text.startsWith("{{{", at), start = at + (isTriple ? 3 : open.length);
    const closing = isTriple ? "}}}" : text[start] === "=" ? `=${close}` : close;
    const end = endOf(closing, start);
    if (end < 0) {
      if (isTriple) {
        // A single brace may stand before a variable.
        addText(scan, at + 1);
        continue;
      }
      break;
    }
    addText(scan, at);
    const inner = text.slice(start, end).trim(), name = isTriple ? inner : inner.replace(/^&\s*/, "");
    const after = end + closing.length;
    const [, nextOpen, nextClose] = /^=\s*(\S+)\s+(\S+)$/.exec(inner) ?? [];
    if (nextOpen !== undefined && !isTriple) [open, close] = [nextOpen, nextClose!];
    if (!isTriple && inner.startsWith("!")) addAlone(scan, { kind: "comment" }, after);
    else if (!isTriple && nextOpen !== undefined) addAlone(scan, { kind: "text", text: "" }, after);
    else addVariable(scan, isVariable(name) ? name : undefined, after);
  }
}

const addVariable = (scan: Scan, name: string | undefined, end: number): void =>
  scan.add(name === undefined ? { kind: "logic" } : { kind: "variable", name }, end);

const noHandlebarsName = /^(?:else|this|true|false|null|undefined|\.|\d+)$|^(?:this|\.)[./]/;

function readHandlebars(scan: Scan): void {
  const { text } = scan, endOf = endFinder(text), endOfDashes = patternFinder(text);
  for (let at = text.indexOf("{{"), from = 0; at >= 0; at = text.indexOf("{{", from)) {
    if (text[at - 1] === "\\" && at > scan.at) {
      addText(scan, at - 1);
      const isEscaped = text[at - 2] !== "\\" || at - 2 < from;
      // One backslash makes a text of the tag, and two are a backslash before it.
      addText(scan, isEscaped ? at + 2 : at, isEscaped ? "{{" : "");
      from = scan.at;
      if (isEscaped) continue;
    }
    const [open] = /^\{{2,4}/.exec(text.slice(at, at + 4))!, isLong = /^\{\{~?!--/.test(text.slice(at, at + 6));
    const start = at + open.length;
    // A comment with dashes ends with them, if such an end follows.
    const close = (isLong ? endOfDashes("--~?\\}\\}", start)?.[0] : undefined) ?? "}".repeat(open.length);
    const isComment = text[start] === "!" || text[start] === "~" && text[start + 1] === "!";
    const end = endOf(close, start, !isComment);
    if (end < 0) {
      if (open.length < 3) break;
      addText(scan, at + 1);
      from = scan.at;
      continue;
    }
    addText(scan, at);
    const after = end + close.length, inner = text.slice(start, after - open.length);
    if (inner.startsWith("~")) trimBefore(scan);
    const name = inner.replace(/^~|~$/g, "").trim().replace(/^&\s*/, "");
    if (isComment) addAlone(scan, { kind: "comment" }, after);
    else {
      const isName = open.length < 4 && isVariable(name) && !noHandlebarsName.test(name);
      addVariable(scan, isName ? name : undefined, after);
    }
    if (inner.endsWith("~")) skipSpace(scan);
    from = scan.at;
  }
}

const jinjaName = /^[\p{L}_$][\p{L}\p{N}_$]*(?:\.[\p{L}_$][\p{L}\p{N}_$]*)*$/u;
const jinjaText = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')$/s;
const jinjaBlock = /^(raw|verbatim|comment)$/;

/** Jinja, and what Nunjucks and Liquid have besides: `verbatim`, and comments as blocks. */
function readJinja(scan: Scan): void {
  const { text } = scan, endOf = endFinder(text), findPattern = patternFinder(text);
  for (let at = text.indexOf("{"), from = 0; at >= 0; at = text.indexOf("{", from)) {
    const sign = text[at + 1];
    const close = sign === "{" ? "}}" : sign === "%" ? "%}" : sign === "#" ? "#}" : undefined;
    const end = close === undefined ? -1 : endOf(close, at + 2, sign !== "#");
    if (end < 0) {
      from = at + 1;
      continue;
    }
    addText(scan, at);
    const after = end + 2, inner = text.slice(at + 2, end);
    const bare = inner.replace(/^[-+]|[-+]$/g, "").trim();
    if (inner.startsWith("-")) trimBefore(scan);
    const block = sign === "%" ? jinjaBlock.exec(bare)?.[1] : undefined;
    const ending = block === undefined ? null : findPattern(`\\{%([-+]?)\\s*end${block}\\s*([-+]?)%\\}`, after);
    const [, double, single] = (sign === "{" ? jinjaText.exec(bare) : null) ?? [];
    const literal = double ?? single;
    if (sign === "#") scan.add({ kind: "comment" }, after);
    else if (ending !== null) {
      const raw = text.slice(after, ending.index), whole = ending.index + ending[0].length;
      const left = inner.endsWith("-") ? raw.trimStart() : raw;
      if (block === "comment") scan.add({ kind: "comment" }, whole);
      else addText(scan, whole, ending[1] === "-" ? left.trimEnd() : left);
    } else if (literal !== undefined) addText(scan, after, unescape(literal));
    else addVariable(scan, sign === "{" && jinjaName.test(bare) ? bare : undefined, after);
    if (ending === null ? inner.endsWith("-") : ending[2] === "-") skipSpace(scan);
    from = scan.at;
  }
}

const unescape = (text: string): string =>
  text.replace(/\\(.)/gs, (_, character: string) => ({ n: "\n", t: "\t", r: "\r" })[character] ?? character);

/** A format string of Python, in which a brace is written twice. */
function readFormatString(scan: Scan): void {
  for (const { index, 0: tag, 1: name } of scan.text.matchAll(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g)) {
    addText(scan, index);
    const end = index + tag.length;
    if (tag === "{{" || tag === "}}") addText(scan, end, tag[0]);
    else if (name !== undefined && /^[\p{L}_][\p{L}\p{N}_.]*$/u.test(name)) addVariable(scan, name, end);
    else {
      const fault = tag.length === 1 ? { fault: `A single ${tag} must be written twice` } : {};
      scan.add({ kind: "logic", ...fault }, end);
    }
  }
}

/** A template, in its own language, with the values of some of its variables as texts. */
export function fillTemplate(text: string, language: Language, values: ReadonlyMap<string, string>): string {
  if (values.size === 0) return text;
  const escape = (value: string) =>
    language === "f-string" ? value.replace(/[{}]/g, "$&$&") : value.replace(/\{[{%#](?!\{)/g, '{{"$&"}}');
  return readTemplate(text, language).map((piece) =>
    piece.kind === "variable" && values.has(piece.name) ? escape(values.get(piece.name)!) : piece.source
  ).join("");
}
