// Programs tell refusals apart by their members, and never by their messages. Reads the sources.
// Runs on Node alone.
import { readdirSync, readFileSync } from "node:fs";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { pathOf } from "./runtimes.ts";

const test = suite("refusals in the sources");

const files = readdirSync(pathOf("src"), { recursive: true, encoding: "utf8" }).filter((path) => /\.tsx?$/.test(path))
  .map((path) => path.replaceAll("\\", "/")).sort();
const linesOf = (path: string) => readFileSync(pathOf(`src/${path}`), "utf8").split("\n");

/** The files with a line that fits, but for comments. */
const filesWith = (pattern: RegExp, among = files): string[] =>
  among.filter((path) => linesOf(path).some((line) => !/^\s*(\/\/|\*|\/\*)/.test(line) && pattern.test(line)));

const reading = "match|matchAll|replace|replaceAll|startsWith|endsWith|includes|indexOf|search|split|slice";
const matching = new RegExp(
  [
    String.raw`(?<!\(\()\bmessage\)?\.(${reading})\(`,
    String.raw`\.(test|exec)\([^()]*\bmessage\b`,
    String.raw`\bmessage (===|!==) (?!undefined)`,
    String.raw`(===|!==) [\w.!?]*\bmessage\b(?!"| \?|\})`,
  ].join("|"),
);

test("no source matches on a message, but for those of others that have nothing else", () => {
  assert.equal(filesWith(matching), [
    // The remedy that a message and a command share is one function of common/errors.ts.
    "cli/frame/parameters.ts",
    // The error of the OpenAI SDK that tells of an abort has no code.
    "client/outcome.ts",
    // Leaves out a cause whose text the error has already.
    "common/log.ts",
    // A manifest acknowledges warnings by a part of their text.
    // The errors of the YAML parser are shortened to a sentence.
    "files/formats/yaml.ts",
    "files/manifest.ts",
  ]);
});

test("refusals of an input name its field", () => {
  const ofInputs = files.filter((path) => /^(management|mcp|console|http\/(feedback|management))/.test(path));
  assert.equal(filesWith(/(?<!\w)invalid\(|Refusal\(\s*"invalid"/, ofInputs), [
    // Composed wrongly in code.
    "console/face.ts",
    // Whole files of the command line.
    "management/prompts/prompt-file.ts",
    "mcp/face.ts",
  ]);
});

test.run();
