// Completion in a real bash, if this machine has one.
// Runs on Node alone.
import { execFileSync, spawnSync } from "node:child_process";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { commands } from "../../src/cli/commands.ts";
import { createFolder } from "../conformance/processes.ts";
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
  [["prom"], "prompt"],
  [["prompt", "pu"], "push pull"],
  [["stats", "co"], "compare"],
  [["stats", "--int"], "--interval"],
  [["stats", "compare", "--f"], "--failures --from --feedback"],
  [["record", "list", "--order", ""], "newest oldest"],
  [["completion", ""], "bash zsh fish"],
  [["completion", "f"], "fish"],
  [["--"], "--version --server --json --help"],
  [["--v"], "--version"],
  [["--json", "prompt", "pu"], "push pull"],
  [["prompt", "--"], "--help"],
  [["plan", "--format", ""], "text github"],
  [["check", "--format", "g"], "github"],
  [["record", "export", "--format", ""], "ndjson csv promptfoo"],
  [["prompt", "push", "--dep"], "--deploy"],
  // Then bash completes names of files.
  [["prompt", "push", ""], ""],
  [["prompt", "push", "--deploy", ""], ""],
  [["nothing", ""], ""],
];

/** What completes a line in a shell, if this machine has it. */
const shells: Record<string, { code(script: string, typed: string[]): string; sorts: boolean }> = {
  bash: {
    sorts: false,
    code: (script, typed) =>
      `${script}\nCOMP_WORDS=(${["promptledger", ...typed].map(quoted).join(" ")}); COMP_CWORD=${typed.length}\n` +
      '_promptledger; echo "${COMPREPLY[*]}"',
  },
  // Outside of its line editor zsh has no completion, so that what the function would offer is printed.
  zsh: {
    sorts: false,
    code: (script, typed) =>
      "compdef() { :; }; _files() { :; }\n" +
      'compadd() { shift; for each in "$@"; do [[ $each == $PREFIX* ]] && print -n -- "$each "; done }\n' +
      '_describe() { for each in "${found[@]}"; do compadd -- "${each%%:*}"; done }\n' +
      `${script}\nwords=(${["promptledger", ...typed].map(quoted).join(" ")}); CURRENT=${typed.length + 1}\n` +
      'PREFIX="$words[CURRENT]"; _promptledger; print',
  },
  fish: {
    sorts: true,
    code: (script, typed) => `${script}\ncomplete -C ${quoted(["promptledger", ...typed].join(" "))}`,
  },
};

// Where no file completes a word.
const empty = await createFolder();
test.after(empty.remove);
const env = { PATH: process.env.PATH, HOME: empty.path };

const quoted = (word: string) => `'${word}'`;
/** The words that were offered, without what explains them. */
const wordsIn = (out: string) => out.split("\n").flatMap((line) => line.split("\t")[0]!.split(" ")).filter(Boolean);

for (const [shell, { code, sorts }] of Object.entries(shells)) {
  test(`${shell} completes nouns, verbs, options, and the values of a choice for each command`, async () => {
    if (spawnSync(shell, ["--version"]).error !== undefined) return;
    const script = await scriptFor(shell);
    for (const [typed, expected] of completions) {
      const out = execFileSync(shell, ["-c", code(script, typed)], { encoding: "utf8", cwd: empty.path, env });
      const found = wordsIn(out), wanted = wordsIn(expected);
      assert.equal(sorts ? found.sort() : found, sorts ? wanted.sort() : wanted, `${shell}: ${typed.join(" ")}`);
    }
  });
}

test("another shell is bad usage", async () => {
  const { code, said } = await runIn(words`completion csh`, {});
  assert.is(code, 2);
  assert.match(said, "SHELL must be bash, zsh or fish");
});

test.run();
