// Tables fit the terminal, have ids last, and align wide characters.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import fc from "fast-check";
import { format, formatValue } from "../../src/cli/frame/format.ts";
import { jsonText } from "../../src/common/json-text.ts";
import { cutTo, widthOf } from "../../src/cli/frame/table.ts";

const test = suite("tables");

test("a character takes as many columns as on a terminal", () => {
  const widths = ["abc", "é", "e\u0301", "日本語", "ﾊﾝ", "👋", "한", "שלום", "a\u200bb", ""].map(widthOf);
  assert.equal(widths, [3, 1, 1, 6, 2, 2, 2, 4, 2, 0]);
});

test("a text is cut to columns, never in the middle of a wide character", () => {
  assert.equal(["abcdef", "日本語", "👋👋👋", "abc"].map((text) => cutTo(text, 4)), ["abc…", "日…", "👋…", "abc"]);
});

test("ids come last, the entry's own id at the end, and wide characters are aligned", () => {
  const rows = [
    { id: "ws_1", ownerId: "o_1", name: "日本語", limit: 10 },
    { id: "ws_2", ownerId: "o_2", name: "Acme", limit: 5 },
  ];
  assert.is(
    format(rows),
    `name    limit  ownerId  id
日本語  10     o_1      ws_1
Acme    5      o_2      ws_2
`,
  );
});

const id = (prefix: string) => `${prefix}_01m80q300erfae83n08z2p0nhz`;
const rows = [{
  id: id("dep"),
  workspaceId: id("ws"),
  name: "production of the checkout in Tōkyō 東京",
  promptId: id("prompt"),
  currentVersion: 12,
  isActive: true,
  createdAt: Date.UTC(2026, 10, 18, 10, 26, 40),
}];

const linesOf = (text: string) => text.trimEnd().split("\n");
const namesOf = (text: string) => linesOf(text)[0]!.split(/ {2,}/);

test("on a narrow terminal the last columns stand below their row, with their names", () => {
  const [first, ...others] = linesOf(format(rows, 80));
  assert.equal(namesOf(first!), ["name", "currentVersion", "isActive"]);
  assert.equal(others, [
    "production of the checkout in Tōkyō 東京  12              yes",
    `  createdAt: 2026-11-18T10:26Z  workspaceId: ${id("ws")}`,
    `  promptId: ${id("prompt")}`,
    `  id: ${id("dep")}`,
  ]);
});

test("as many values stand in a line below a row as fit, and those without a value nowhere", () => {
  const item = { name: "a".repeat(30), limit: 10, isActive: true, expiresAt: null, id: "ws_1" };
  assert.is(format([item], 28), `name: ${"a".repeat(30)}\n  limit: 10  isActive: yes\n  id: ws_1\n`);
});

test("a narrow terminal shortens times to minutes first, and then cuts free texts", () => {
  const entry = { createdAt: rows[0]!.createdAt, status: "1 ok", text: "Your parcel arrives tomorrow", id: id("diag") };
  const widths = [100, 88, 80].map((columns) => linesOf(format([entry], columns))[1]);
  assert.equal(widths, [
    `2026-11-18T10:26:40.000Z  1 ok    Your parcel arrives tomorrow  ${id("diag")}`,
    `2026-11-18T10:26Z  1 ok    Your parcel arrives tomorrow  ${id("diag")}`,
    `2026-11-18T10:26Z  1 ok    Your parcel arrives…  ${id("diag")}`,
  ]);
});

const anyCell = fc.oneof(
  fc.integer({ min: 0 }).map((minutes) => minutes * 60_000),
  fc.boolean(),
  fc.constant(null),
  fc.string({ maxLength: 40 }),
  fc.constantFrom("support/assistant@production", "0 failed!", "$0.00005123", "日本語".repeat(9)),
);
const flat = (text: string) => text.replace(/\s+/g, " ");

test("no width cuts a value, but that of a free text, and no line is longer than the terminal is wide unless a word is", () => {
  const names = ["name", "status", "limit", "createdAt", "id", "sessionId"];
  const anyRow = fc.record(Object.fromEntries(names.map((name) => [name, anyCell])));
  fc.assert(
    fc.property(
      fc.array(anyRow, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 200 }),
      (items, columns) => {
        const text = format(items.map((item) => ({ ...item, note: "free ".repeat(50) })), columns);
        const whole = flat(text);
        for (const [name, value] of items.flatMap((item) => Object.entries(item))) {
          // Times may lose their seconds.
          const shown = formatValue(name, value).replace(/(?<=T\d\d:\d\d):00\.\d{3}Z$/, "");
          assert.ok(shown === "-" || whole.includes(flat(shown).trim()), `${name} ${shown}\n${text}`);
        }
        for (const line of linesOf(text)) {
          assert.ok(
            widthOf(line) <= columns || line.split(/ (?!%|ms\b)/).some((word) => widthOf(word) + 4 > columns),
            line,
          );
        }
      },
    ),
  );
});

test("what is not for a terminal has everything, and one long text does not widen the other rows", () => {
  const long = "x".repeat(1000);
  const text = format([{ note: long, id: "a" }, { note: "short", id: "b" }]);
  assert.is(text, `${"note".padEnd(60)}  id\n${long}  a\n${"short".padEnd(60)}  b\n`);
  assert.match(format(rows), "2026-11-18T10:26:40.000Z");
});

test("an object of ours has lines of its own, and what clients sent is JSON", () => {
  const filter = { deployId: "dep_1", range: { from: "a" } };
  const data = {
    id: "rev_1",
    filter,
    none: {},
    rows: [{ a: 1 }],
    additional_properties: { b: { c: 1 } },
    raw: jsonText('{"d":1}'),
  };
  assert.is(
    format(data),
    `id                     rev_1
filter
  deployId  dep_1
  range
    from  a
none                   {}
rows
  a
  1
additional_properties  {"b":{"c":1}}
raw                    {"d":1}
`,
  );
});

test("a duration has its unit behind it, and not in its name", () => {
  assert.is(format({ keepRecordsMs: 90 * 86_400_000, keepCallsMs: null }), "keepRecords  90d\nkeepCalls    -\n");
  assert.match(format([{ keepRecordsMs: 3_600_000 }]), /^keepRecords\n1h\n/);
});

test.run();
