// The step `prose` of `npm run check`: warns where README.md outgrows its form. It never fails.
import { readFileSync } from "node:fs";
import process from "node:process";

const maxLines = 150;

const sections = [
  "Start",
  "Use it from an app",
  "Concepts",
  "Command line",
  "Prompts in git",
  "Settings",
  "Runtimes and stores",
  "Embedding",
  "Production in short",
  "Promises",
  "Weight",
];

const text = readFileSync(`${process.argv[2] ?? "."}/README.md`, "utf8");
const lines = text.trimEnd().split("\n").length;
if (lines > maxLines) console.log(`warning: README.md has ${lines} lines, more than ${maxLines}`);
const headings = Array.from(text.matchAll(/^## (.+)$/gm), ([, heading]) => heading);
if (headings.join() !== sections.join()) {
  console.log(`warning: the sections of README.md are ${headings.join(", ")} instead of ${sections.join(", ")}`);
}
