// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createMetrics } from "../../src/common/metrics.ts";

const test = suite("metrics");

test("counts by the values of labels, which are escaped", () => {
  const { counter, text } = createMetrics();
  const count = counter("seen_total", "What was seen", ["kind", "where"]);
  count("a", "b");
  count("a", "b");
  count('quo"te', "back\\slash\nline");
  assert.is(
    text(),
    "# HELP seen_total What was seen\n# TYPE seen_total counter\n" +
      'seen_total{kind="a",where="b"} 2\nseen_total{kind="quo\\"te",where="back\\\\slash\\nline"} 1\n',
  );
});

test("values that are known begin with 0", () => {
  const { counter, text } = createMetrics();
  counter("errors_total", "Errors", ["kind"], ["a", "b"])("b");
  assert.match(text(), /^errors_total{kind="a"} 0\nerrors_total{kind="b"} 1$/m);
});

test("a counter without labels begins with 0", () => {
  const { counter, text } = createMetrics();
  counter("none_total", "Nothing");
  assert.match(text(), /^none_total 0$/m);
});

test("a histogram counts what is at most each bound, and sums it up", () => {
  const { histogram, text } = createMetrics();
  const observe = histogram("size", "Sizes", [1, 2.5]);
  for (const size of [0.5, 1, 2, 2.5, 3]) observe(size);
  assert.is(
    text(),
    "# HELP size Sizes\n# TYPE size histogram\n" +
      'size_bucket{le="1"} 2\nsize_bucket{le="2.5"} 4\nsize_bucket{le="+Inf"} 5\nsize_sum 9\nsize_count 5\n',
  );
});

test("a histogram has buckets for each of its labels' values", () => {
  const { histogram, text } = createMetrics();
  const observe = histogram("size", "Sizes", [1], ["of"]);
  observe(1, "a");
  observe(2, "b");
  const lines = text().split("\n").filter((line) => line.includes("bucket"));
  assert.equal(lines, [
    ...['size_bucket{of="a",le="1"} 1', 'size_bucket{of="a",le="+Inf"} 1'],
    ...['size_bucket{of="b",le="1"} 0', 'size_bucket{of="b",le="+Inf"} 1'],
  ]);
});

test("a gauge is read when it is asked for", () => {
  const { gauge, text } = createMetrics();
  let value = 1;
  gauge("now", "Now", () => value);
  value = 2;
  gauge("spent_total", "Spent", () => 3, "counter");
  assert.match(text(), /^now 2\n# HELP spent_total Spent\n# TYPE spent_total counter\nspent_total 3\n$/m);
});

test.run();
