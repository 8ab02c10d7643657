// Completion in a real bash, if this machine has one.
// Runs on Node alone.
import { execFileSync, spawnSync } from "node:child_process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { commands } from "../../src/cli/commands.ts";
import { runIn, words } from "./places.ts";

const test = suite("completion");

const scriptFor = async (shell: string) => (await runIn(words`completion ${shell}`, {})).out;

for (const shell of ["bash", "zsh", "fish"]) {
  test(`the script for ${shell} is valid, and has every noun, verb and option`, async () => {
    const script = await scriptFor(shell);
    for (const { name, parameters } of commands) {
      for (const word of name) assert.ok(script.includes(word), word);
      for (const { name: option, isOption } of parameters) if (isOption) assert.ok(script.includes(option), option);
    }
    const { error, status, stderr } = spawnSync(shell, ["-n", "-c", script], { encoding: "utf8" });
    if (error === undefined) assert.equal([status, stderr], [0, ""]);
  });
}

const completions: [typed: string[], expected: string][] = [
  [["pro"], "prompt"],
  [["prompt", "pu"], "push pull"],
  [["stats", "co"], "compare"],
  [["stats", "--int"], "--interval"],
  [["stats", "compare", "--f"], "--failures --from"],
  [["record", "list", "--order", ""], "newest oldest"],
  [["prompt", "push", "--dep"], "--deploy"],
  // Then bash completes names of files.
  [["prompt", "push", ""], ""],
  [["prompt", "push", "--deploy", ""], ""],
  [["nothing", ""], ""],
];

test("bash completes nouns, verbs, options and the values of a choice", async () => {
  if (spawnSync("bash", ["--version"]).error !== undefined) return;
  const script = await scriptFor("bash");
  for (const [typed, expected] of completions) {
    const line = ["promptledger", ...typed].map((word) => `'${word}'`).join(" ");
    const code = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${typed.length}; _promptledger; echo "\${COMPREPLY[*]}"`;
    assert.is(execFileSync("bash", ["-c", code], { encoding: "utf8" }), `${expected}\n`, typed.join(" "));
  }
});

test("another shell is bad usage", async () => {
  const { code, said } = await runIn(words`completion csh`, {});
  assert.is(code, 2);
  assert.match(said, "SHELL must be bash, zsh or fish");
});

test.run();
