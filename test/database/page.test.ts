// Searches for one item of a list whose pages may be short or empty.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { findFirst } from "../../src/database/page.ts";
import type { Page } from "../../src/common/domain.ts";

const test = suite("pages");

/** A list with these pages, and the cursors that it was asked for. */
function listOf(...pages: Page<string>[]) {
  const cursors: (string | undefined)[] = [];
  const list = (cursor: string | undefined) => {
    cursors.push(cursor);
    return Promise.resolve(pages[cursors.length - 1]!);
  };
  return { cursors, list };
}

const empty = (nextCursor: string | null): Page<string> => ({ items: [], nextCursor });

test("the first item is found behind any number of empty pages", async () => {
  const { cursors, list } = listOf(empty("1"), empty("2"), { items: ["a", "b"], nextCursor: "3" });
  assert.equal(await findFirst(list, () => false), { outcome: "found", item: "a" });
  assert.equal(cursors, [undefined, "1", "2"]);
});

test("a list that ends without an item has none", async () => {
  const { cursors, list } = listOf(empty("1"), empty(null));
  assert.equal(await findFirst(list, () => false), { outcome: "none" });
  assert.is(cursors.length, 2);
});

test("a search that is over says so, and where it would go on", async () => {
  const { cursors, list } = listOf(empty("1"), empty("2"), { items: ["a"], nextCursor: null });
  assert.equal(await findFirst(list, () => cursors.length === 2), { outcome: "out_of_time", cursor: "2" });
});

test("what the last page before the end of the time has is found, and so is the end of the list", async () => {
  assert.equal(await findFirst(listOf({ items: ["a"], nextCursor: "1" }).list, () => true), {
    outcome: "found",
    item: "a",
  });
  assert.equal(await findFirst(listOf(empty(null)).list, () => true), { outcome: "none" });
});

test("a list without an end is refused", async () => {
  const list = () => Promise.resolve(empty("1"));
  const error: unknown = await findFirst(list, () => false).catch((error: unknown) => error);
  assert.match(String(error), "cursor 1 came twice");
});

test.run();
