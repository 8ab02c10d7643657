// Runs on every runtime.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { describeError } from "../../src/common/log.ts";
import { captureLog } from "../helpers.ts";

const test = suite("log");

test("a text line is the time, the level, the message and the fields", () => {
  const { log, logged: lines } = captureLog("info", "text");
  log.info("Listening", { url: "http://127.0.0.1:8787", port: 8787, why: "two words", none: undefined });
  assert.equal(lines, ['2026-11-15T12:00:00.000Z info  Listening url=http://127.0.0.1:8787 port=8787 why="two words"']);
});

test("a JSON line is one object", () => {
  const { log, logged: lines } = captureLog("info", "json");
  log.warn("Slow", { ms: 12 });
  assert.equal(JSON.parse(lines[0]!), { time: "2026-11-15T12:00:00.000Z", level: "warn", message: "Slow", ms: 12 });
});

test("events below the level are left out", () => {
  const { log, logged: lines } = captureLog("warn", "json");
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  assert.equal(lines.map((line) => JSON.parse(line).message), ["c", "d"]);
});

for (const format of ["text", "json"] as const) {
  test(`a ${format} event is one line, and steers no terminal, whatever is in it`, () => {
    const { log, logged: lines } = captureLog("info", format);
    log.error("bad\r\nmessage\u001b[2J", { value: "a\nb\u001b[31m\u009b1m\u2028c", other: "x y\n" });
    assert.is(lines.length, 1);
    // deno-lint-ignore no-control-regex
    assert.not.match(lines[0]!, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
  });
}

test("an error is described by name, code and message", () => {
  assert.is(describeError(Object.assign(new TypeError("no"), { code: "E_NO" })), "TypeError E_NO: no");
  assert.is(describeError("thrown text"), "thrown text");
  const [a, b] = [new Error("a"), new Error("b")];
  a.cause = b;
  b.cause = a;
  assert.match(describeError(a), /^Error: a because of Error: b/);
});

test.run();
