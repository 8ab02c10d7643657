// Tables fit the terminal, have ids last, and align wide characters.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { format, formatList } from "../../src/cli/format.ts";
import { cutTo, widthOf } from "../../src/cli/table.ts";

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

for (const columns of [200, 140, 120, 100, 80, 60, 40]) {
  test(`a list fits ${columns} columns without cut ids, and names the hidden columns`, () => {
    const { text, hidden } = formatList(rows, columns);
    for (const line of linesOf(text)) assert.ok(widthOf(line) <= columns, line);
    assert.ok(linesOf(text)[1]!.endsWith(`${id("dep")}`), text);
    const [head = ""] = linesOf(text);
    for (const name of ["workspaceId", "promptId"]) assert.is(head.includes(name), !hidden.includes(name), text);
  });
}

test("ids of other items are hidden first, and the first columns last", () => {
  const names = (columns: number) => formatList(rows, columns).text.split("\n")[0]!.split(/ {2,}/);
  assert.equal(names(80), ["name", "currentVersion", "isActive", "id"]);
  assert.equal(names(60), ["name", "currentVersion", "id"]);
  assert.equal(names(45), ["name", "id"]);
});

test("an id that may be hidden is hidden before any other column", () => {
  const prices = [{ model: "gpt-4o", input: "2.5", output: "10", id: "price_01k9z0000000000000000000" }];
  assert.is(formatList(prices, 40, true).text, "model   input  output\ngpt-4o  2.5    10\n");
  assert.equal(formatList(prices, 40, true).hidden, ["id"]);
  assert.equal(formatList(prices, 80, true).hidden, []);
});

test("times lose their seconds before a column is hidden", () => {
  const { text, hidden } = formatList(rows, 185);
  assert.match(text, "  2026-11-18T10:26Z  ");
  assert.equal(hidden, []);
});

test("a reference loses what stands before its @, and other texts lose their ends first", () => {
  const named = (deployment: string) => ({
    reference: `support/assistant-for-customers@${deployment}`,
    title: "An assistant that answers customers",
    id: id("dep"),
  });
  const { text, hidden } = formatList([named("staging"), named("production")], 80);
  assert.equal([linesOf(text).map((line) => line.split(/ {2,}/)[0]), hidden], [
    ["reference", "support/assistant-f…@staging", "support/assistan…@production"],
    [],
  ]);
});

test("an id of something else gives way, also in the last column", () => {
  const entry = {
    createdAt: 0,
    action: "deployment.promoted",
    change: "version 1 → 2",
    actor: "ann",
    requestId: id("req"),
  };
  assert.equal(formatList([entry], 80).hidden, ["requestId"]);
});

test("on a very narrow terminal lines are cut", () => {
  for (const line of linesOf(formatList(rows, 10).text)) assert.ok(widthOf(line) <= 10, line);
});

test("a list that is not for a terminal has all columns", () => {
  const { text, hidden } = formatList(rows);
  assert.equal(hidden, []);
  assert.match(text, "2026-11-18T10:26:40.000Z");
});

test.run();
