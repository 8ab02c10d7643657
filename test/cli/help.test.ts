// What help says.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { commands } from "../../src/cli/commands.ts";
import { help, withoutCovered } from "../../src/cli/help.ts";
import { usageOf } from "../../src/cli/frame/parameters.ts";
import { widthOf } from "../../src/cli/frame/table.ts";
import { runIn, words } from "./places.ts";

const test = suite("help");

const linesOf = (text: string) => text.trimEnd().split("\n");
const widest = (text: string) => Math.max(...linesOf(text).map(widthOf));

test("the overview names every command in 26 lines of a terminal, and goes to stderr if no command is given", async () => {
  const { code, out } = await runIn(["--help"], {});
  assert.is(code, 0);
  assert.ok(linesOf(out).length <= 26 && widest(out) <= 80, out);
  for (const { name } of commands) for (const word of name) assert.match(out, new RegExp(`\\b${word}\\b`));
  const none = await runIn([], {});
  assert.equal([none.code, none.out, none.said], [2, "", out]);
});

for (const command of commands) {
  test(`help on ${usageOf(command)} explains each parameter`, async () => {
    const { code, out } = await runIn([...command.name, "--help"], {}, "", { columns: 80 });
    assert.is(code, 0);
    const flat = out.replace(/\s+/g, " ");
    const isShown = withoutCovered(commands).includes(command);
    const beginning = isShown ? `promptledger ${usageOf(command)} ` : `With --deploy: ${command.summary} `;
    assert.ok(flat.includes(beginning), out);
    if (!isShown) return;
    for (const { label, placeholder, isOption, explanation } of command.parameters) {
      assert.match(explanation, /^[A-Z-]/, label);
      assert.not.match(explanation, /milliseconds|\bnull\b|`|undefined/, label);
      const name = isOption && placeholder !== undefined ? `${label} ${placeholder}` : label;
      assert.ok(flat.includes(` ${name} ${explanation} `), `${label}: ${explanation}`);
    }
    assert.ok(widest(out) <= 80, out);
  });
}

test("help fits into the terminal, however narrow, and breaks no line within an option", () => {
  for (const columns of [60, 120]) {
    const text = help(["record"], columns)!;
    assert.ok(widest(text) <= columns, text);
    assert.match(text, "[--limit N]");
  }
  assert.ok(help(["record"], 1)!.includes("promptledger"));
});

test("help on a noun says which command an option belongs to where it means different things", () => {
  const text = help(["workspace"])!;
  assert.match(text, / {2}--name NAME +Its name \(create\)\n/);
  assert.match(text, / {2}--name NAME +The new name \(update\)\n/);
});

test("help on a command says its usage once, with what it does with an option that changes that", () => {
  for (const words of [["record", "list"], ["record", "export"], ["stats"]]) {
    const text = help(words)!, name = words.join(" ");
    assert.is(text.split(`promptledger ${name} [`).length, 2, text);
    assert.is(text.split("\n  --deploy REF ").length, 2, text);
    assert.match(text, /\n {2}With --deploy: [A-Z].*deployment/);
  }
});

test("help on one command is found in front of its arguments and behind them", async () => {
  for (const args of [words`key create --help`, words`key create x --name y --help`, words`help key create`]) {
    const { out } = await runIn(args, {});
    assert.ok(out.includes("key create [--name NAME]") && !out.includes("key revoke"));
  }
});

test.run();
