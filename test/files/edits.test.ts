// A change of one member or message changes only its lines of a file, whatever the layout of the file.
import fc from "fast-check";
import type { GeneratorValue } from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { jsonText } from "../../src/common/json-text.ts";
import { canonicalOf } from "../../src/files/formats/content.ts";
import { readFolder } from "../../src/files/folder.ts";
import type { PromptFile } from "../../src/files/folder.ts";
import { writeChanged } from "../../src/files/write.ts";

const test = suite("changes in prompt files");

type Value = string | number | boolean | null | Value[] | { [name: string]: Value };
type Path = (string | number)[];

/** A text of a file, and the path of the value that it belongs to. In flow style all of a value is on one line. */
type Piece = { text: string; path: Path; isFlow?: boolean };

type Message = { role: string; content: Value };
type Content = { title: string; description: string; llmConfig: Value; messages: Message[] };

const texts = [
  "a",
  "b c",
  "true",
  "1.0",
  "- x",
  "a: b",
  "# c",
  "it's",
  '"q"',
  "é 🎉",
  "x\ny",
  "{{x}}",
  "",
  " s ",
  "---",
];
const scalar = fc.oneof(fc.constantFrom<Value>(...texts, null), fc.integer({ min: -5, max: 99 }), fc.boolean());
const name = fc.constantFrom("model", "temperature", "a b", "1", "x-y", "no", "stop", "tools", "<<");
const tree: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.dictionary(name, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
})).value;
const mapping = fc.dictionary(name, tree, { maxKeys: 4, noNullPrototype: true });
const title = fc.constantFrom("A", "b: c", "- d", "no", "é # 1");
const description = fc.constantFrom("d", "two\nlines", "it's: so", "# x");
const role = fc.constantFrom("system", "user", "assistant", "tool");
const lineEnds = fc.constantFrom("\n", "\r\n");
const anyLineEnds = () => lineEnds;

const entriesOf = (value: Value): [string, Value][] =>
  typeof value === "object" && value !== null ? Object.entries(value) : [];
const isMapping = (value: Value): boolean => entriesOf(value).length > 0 && !Array.isArray(value);
const isWithin = (path: Path, parent: Path): boolean => parent.every((name, nth) => String(name) === String(path[nth]));
const among = (...all: string[]): fc.Arbitrary<string> => fc.constantFrom(...all);
const oneOf = (g: GeneratorValue, ...all: string[]): string => g(among, ...all);
const isRepeated = (all: readonly unknown[], nth: number): boolean =>
  all.filter((one) => JSON.stringify(one) === JSON.stringify(all[nth])).length > 1;
const isOneIn = (g: GeneratorValue, count: number): boolean => g(fc.nat, { max: count - 1 }) === 0;

const contentOf = ({ title, description, llmConfig, messages }: Content): PromptFile["content"] => ({
  ...{ title, description, declarations: undefined },
  messages: jsonText(JSON.stringify(messages)),
  llmConfig: jsonText(JSON.stringify(llmConfig)),
});

/** Changes one thing in a value, and says where. */
function changeOf(g: GeneratorValue, value: Value, path: Path): { value: Value; path: Path } {
  const entries = entriesOf(value), kind = g(fc.nat, { max: 5 });
  if (entries.length === 0 || kind === 0) return { value: g(() => path.length === 1 ? mapping : tree), path };
  const nth = g(fc.nat, { max: entries.length - 1 }), [name, own] = entries[nth]!, inner = [...path, name];
  const put = (all: [string, Value][]): Value =>
    Array.isArray(value) ? all.map(([, each]) => each) : Object.fromEntries(all);
  if (kind === 1 && entries.length > 1 && !isRepeated(entries.map(([, own]) => own), nth)) {
    return { value: put(entries.toSpliced(nth, 1)), path: inner };
  }
  if (kind === 2) return { value: put([...entries, ["more", g(() => tree)]]), path: [...path, "more"] };
  const change = changeOf(g, own, inner);
  return { value: put(entries.with(nth, [name, change.value])), path: change.path };
}

/** Changes one member or message of a content. */
function changeContent(g: GeneratorValue, content: Content, text: fc.Arbitrary<Value>): { value: Content; path: Path } {
  const { messages } = content, nth = g(fc.nat, { max: messages.length - 1 }), path = ["messages", nth];
  const more: Message = { role: "developer", content: "One more" };
  switch (g(fc.nat, { max: 6 })) {
    case 0:
      return { value: { ...content, title: g(() => title) }, path: ["title"] };
    case 1:
      return { value: { ...content, description: g(() => description) }, path: ["description"] };
    case 2:
      return { value: { ...content, messages: messages.toSpliced(nth, 0, more) }, path: ["messages", "more"] };
    case 3: {
      const isKept = messages.length === 1 || isRepeated(messages, nth);
      return { value: isKept ? content : { ...content, messages: messages.toSpliced(nth, 1) }, path };
    }
    case 4: {
      const changed: Message = { ...messages[nth]!, content: g(() => text) };
      return { value: { ...content, messages: messages.with(nth, changed) }, path: [...path, "content"] };
    }
    default: {
      const { value, path } = changeOf(g, content.llmConfig, ["llmConfig"]);
      return { value: { ...content, llmConfig: value }, path };
    }
  }
}

/** The lines of a file that hold nothing of what is at a path. */
function othersOf(pieces: readonly Piece[], changed: Path): string[] {
  const lines = [{ text: "", isOther: true }];
  for (const { text, path, isFlow = false } of pieces) {
    const isOther = !isWithin(path, changed) && !(isFlow && isWithin(changed, path));
    for (const [nth, part] of text.split("\n").entries()) {
      if (nth > 0) lines.push({ text: "", isOther: true });
      const line = lines.at(-1)!;
      line.text += part;
      if (part !== "") line.isOther &&= isOther;
    }
  }
  return lines.filter(({ isOther }) => isOther).map(({ text }) => text);
}

/** Lines without the dashes, commas and empty lines that go with what they separate. */
const bare = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replace(/^[- \t]*|,?[ \t]*\r?$/g, "")).filter((line) => line !== "");

function assertChange(
  g: GeneratorValue,
  file: string,
  pieces: readonly Piece[],
  before: Content,
  text: fc.Arbitrary<Value>,
) {
  const lineEnd = g(anyLineEnds), change = changeContent(g, before, text), content = contentOf(change.value);
  const source = pieces.map(({ text }) => text).join("").replaceAll("\n", lineEnd), prompt = read(file, source);
  assert.is(canonicalOf(prompt.content), canonicalOf(contentOf(before)), source);
  const written = writeChanged(prompt, content, () => true);
  if (written === undefined) return assert.is(canonicalOf(prompt.content), canonicalOf(content));
  const again = read(file, written.text), report = `${source}\n\nbecame\n${written.text}`;
  assert.equal([written.path, canonicalOf(again.content)], [file, canonicalOf(content)], report);
  assert.is(writeChanged(again, content, () => true), undefined);
  assert.not.match(written.text, lineEnd === "\n" && source.includes("\n") ? /\r/ : /(?<!\r)\n|\r(?!\n)/, report);
  const lines = bare(written.text.split("\n"));
  let at = 0;
  for (const line of bare(othersOf(pieces, change.path))) {
    at = lines.indexOf(line, at) + 1;
    if (at === 0) assert.unreachable(`Lost ${JSON.stringify(line)} for ${change.path.join(".")}\n\n${report}`);
  }
  const isText = change.path[0] === "messages" && change.path[2] === "content";
  const empty = (text: string) => text.split("\n").filter((line) => line.trim() === "").length;
  if (isText && !file.endsWith(".json")) {
    const [own, other] = [before, change.value].map(({ messages }) =>
      String(messages[Number(change.path[1])]!.content)
    );
    if (own !== "" && other !== "") {
      assert.is(empty(written.text) - empty(other!), empty(source) - empty(own!), report);
    }
  }
}

function read(path: string, source: string): PromptFile {
  const { prompts, faults } = readFolder(new Map([[path, source]]));
  assert.equal(faults, [], source);
  return prompts[0]!;
}

/** The text of a scalar in YAML, in one of the styles that hold it. */
function scalarIn(g: GeneratorValue, value: Value, margin: string, isFlow: boolean): string {
  if (typeof value !== "string") return JSON.stringify(value);
  const styles = [JSON.stringify(value)];
  if (!value.includes("\n")) styles.push(`'${value.replaceAll("'", "''")}'`);
  if (/^[a-z]( ?[a-z])*$/.test(value) && value !== "true" && value !== "no") styles.push(value);
  if (/^\S+( \S+)*$/.test(value) && !isFlow) styles.push(`|-\n${margin}  ${value}`, `>-\n${margin}  ${value}`);
  return oneOf(g, ...styles);
}

const nameIn = (g: GeneratorValue, name: string): string =>
  oneOf(g, JSON.stringify(name), `'${name}'`, ...(/^[a-z]{3,}$/.test(name) ? [name] : []));

/** What follows the name of a value in YAML, or its dash. */
function yamlOf(g: GeneratorValue, value: Value, path: Path, margin: string, isItem = false): Piece[] {
  const entries = entriesOf(value);
  if (entries.length === 0) {
    const text = scalarIn(g, value, margin, false), space = oneOf(g, " ", "  ");
    return [{ text: space + text + (text.includes("\n") ? "" : oneOf(g, "", " # note", "   # é")), path }];
  }
  if (isOneIn(g, 3)) return [{ text: ` ${flowOf(g, value)}`, path, isFlow: true }];
  const isList = Array.isArray(value), own = margin + oneOf(g, isList && !isItem ? "" : "  ", "  ", "    ");
  return entries.flatMap(([name, each]) => {
    const inner = [...path, name];
    return [
      { text: oneOf(g, "", "", "\n", "\n\n"), path },
      { text: `${oneOf(g, "", "", `\n${own}# about`)}\n${own}${isList ? "-" : `${nameIn(g, name)}:`}`, path: inner },
      ...(isList && isMapping(each) && isOneIn(g, 2)
        ? entriesOf(each).flatMap(([name, value], nth) => {
          const path = [...inner, name], text = `${nth === 0 ? " " : `\n${own}  `}${nameIn(g, name)}:`;
          return [{ text, path }, ...yamlOf(g, value, path, `${own}  `)];
        })
        : yamlOf(g, each, inner, own, isList)),
    ];
  });
}

function flowOf(g: GeneratorValue, value: Value): string {
  const entries = entriesOf(value), isList = Array.isArray(value), padding = oneOf(g, "", " ");
  if (entries.length === 0) return scalarIn(g, value, "", true);
  const items = entries.map(([name, each]) => `${isList ? "" : `${nameIn(g, name)}: `}${flowOf(g, each)}`);
  return (isList ? "[" : "{") + padding + items.join(oneOf(g, ", ", ",  ")) + padding + (isList ? "]" : "}");
}

/** A value in JSON, with white space as people leave it. */
function jsonOf(g: GeneratorValue, value: Value, path: Path, margin: string, isFlow = false): Piece[] {
  const entries = entriesOf(value), isList = Array.isArray(value);
  if (entries.length === 0) return [{ text: JSON.stringify(value), path, isFlow }];
  const isOneLine = isFlow || isOneIn(g, 4), own = `${margin}${oneOf(g, "  ", "\t")}`;
  const space = isOneLine ? oneOf(g, "", " ") : `\n${own}`;
  return [
    { text: `${isList ? "[" : "{"}${space}`, path, isFlow: isOneLine },
    ...entries.flatMap(([name, each], nth) => {
      const inner = [...path, name];
      return [
        ...(nth === 0 ? [] : [{ text: `,${space}`, path, isFlow: isOneLine }]),
        ...(isList ? [] : [{ text: `${JSON.stringify(name)}:${oneOf(g, "", " ")}`, path: inner, isFlow: isOneLine }]),
        ...jsonOf(g, each, inner, own, isOneLine),
      ];
    }),
    { text: `${isOneLine ? space : `\n${margin}`}${isList ? "]" : "}"}`, path, isFlow: isOneLine },
  ];
}

const line = fc.constantFrom("Hi {{x}}", "# user", "\\# system", "# Other", "", "  in", "\tin", "---", "text  ", "🎉");
const body = fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.join("\n").replace(/^\n+|\n+$/g, ""));
const escaped = (text: string): string => text.replace(/^(\\*# (system|user)[ \t]*)$/gm, "\\$1");

function contentIn(g: GeneratorValue, text: fc.Arbitrary<Value>): Content {
  const messages = () => fc.array(fc.record({ role, content: text }), { minLength: 1, maxLength: 4 });
  return {
    title: g(() => title),
    description: g(() => description),
    llmConfig: g(() => mapping),
    messages: g(messages),
  };
}

// Cases made by `fc.gen` shrink without end.
const settings = { numRuns: Number(process.env.NUM_RUNS ?? (isFull ? 5_000 : 300)), endOnFailure: true };

test("in Markdown, a change of one member or message changes only its lines", () => {
  fc.assert(
    fc.property(fc.gen(), (g) => {
      const before = contentIn(g, body), { messages, ...head } = before;
      const front = Object.entries(head).flatMap(([name, value]) => [
        { text: oneOf(g, "", "", "\n"), path: [] },
        { text: `${oneOf(g, "", "", "# about\n")}${name}:`, path: [name] },
        ...(entriesOf(value).length === 0 && typeof value === "object"
          ? [{ text: " {}", path: [name], isFlow: true }]
          : yamlOf(g, value, [name], "")),
        { text: "\n", path: [] },
      ]);
      const sections = messages.flatMap(({ role, content }, nth) => {
        const path = ["messages", nth], blank = () => oneOf(g, "", "\n", "\n\n");
        return [
          { text: `# ${role}${oneOf(g, "", " ", "\t")}\n${content === "" ? "" : blank()}`, path },
          { text: content === "" ? "" : `${escaped(String(content))}\n`, path: [...path, "content"] },
          { text: blank(), path: [] },
        ];
      });
      const pieces = [
        { text: "---\n", path: [] },
        ...front,
        { text: `---\n${oneOf(g, "", "\n")}`, path: [] },
        ...sections,
      ];
      assertChange(g, "deep/down/a.md", pieces, before, body);
    }),
    settings,
  );
});

const parts = fc.oneof(
  fc.constantFrom<Value>("Hi {{x}}", "a\r\nb", "é"),
  fc.array(fc.record({ type: fc.constant("text"), text: fc.constantFrom("a", "b") }), { maxLength: 2 }),
);

test("in JSON, a change of one member or message changes only its lines", () => {
  fc.assert(
    fc.property(fc.gen(), (g) => {
      const before = contentIn(g, parts);
      const pieces = [...jsonOf(g, before, [], ""), { text: oneOf(g, "", "\n"), path: [] }];
      assertChange(g, "a.json", pieces, before, parts);
    }),
    settings,
  );
});

test.run();
