// The comments of the code are plain English: a comment names its thing, and has no word that reads like a translation.
// Runs on Node alone.
import { readFile } from "node:fs/promises";
import { files } from "./documents.ts";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { pathOf } from "./runtimes.ts";

const test = suite("language");

/** Comments that may open with a clause, by file. The list only shrinks: a file that needs fewer must say so here. */
const exceptions: Record<string, number> = {};

/** A clause in the place of a name, or a name that only the comment above it explains. */
const opening = /^(What|Whether|How|Who|Those|The same|Of the)\b/;
const phrases = /(?<!there )\b(is|are) none\b|\bof ours\b|\bso that nobody\b|\bhas nothing to say\b/i;

/** The comments of a source, each as one line: docstrings, runs of `//` and what follows code. */
function commentsOf(source: string): string[] {
  const comments: string[] = [];
  let isOpen = false;
  for (const line of source.split("\n")) {
    const [, start, text, trailing] = /^\s*(\/\*\*?|\*\/?|\/\/) ?(.*)$|[^\s:]\s\/\/ (?!\/)(.*)$/.exec(line) ?? [];
    if (trailing !== undefined) comments.push(trailing);
    else if (isOpen && (start === "*" || start === "//")) comments.push(`${comments.pop()} ${text}`.trim());
    else if (start === "//" || start?.startsWith("/*")) comments.push(text!.replace(/\s*\*\/$/, ""));
    isOpen = trailing === undefined && start !== undefined && !line.trimEnd().endsWith("*/");
  }
  return comments;
}

test("comments are found wherever they stand", () => {
  const source =
    "// One\n// and on\ncode(); // Two\n/** Three */\n/**\n * Four\n * and on\n */\nconst url = `http://host`;\n";
  assert.equal(commentsOf(source), ["One and on", "Two", "Three", "Four and on"]);
});

const generated = ["src/database/migrations.ts", "src/console/frame/assets.ts", "src/schema/shapes.ts"];

for (const file of files.filter((path) => /^src\/.*\.tsx?$/.test(path) && !generated.includes(path))) {
  const comments = commentsOf(await readFile(pathOf(file), "utf8"));
  const faults = comments.filter((comment) => opening.test(comment) || phrases.test(comment));
  if (faults.length !== (exceptions[file] ?? 0)) {
    test(`${file} names things, and has as many exceptions as the list says`, () => {
      assert.unreachable(`${faults.length} instead of ${exceptions[file] ?? 0}:\n${faults.join("\n")}`);
    });
  }
}

test.run();
