// The documents: every command, option, setting, metric, path and link in them exists.
// Runs on Node alone.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { calcPrice } from "@pydantic/genai-prices";
import { suite } from "./suite.ts";
import { commandFirst } from "../src/cli/run.ts";
import * as assert from "uvu/assert";
import { readArguments } from "../src/cli/frame/arguments.ts";
import { commands } from "../src/cli/commands.ts";
import { version } from "../src/common/version.ts";
import { readConfig } from "../src/runtime/settings/config.ts";
import { checkSettings } from "../src/http/settings.ts";
import { readOptions } from "./bench/options.ts";
import { budgets } from "./budgets.ts";
import {
  anchorsOf,
  blocksOf,
  commandsIn,
  documentAt,
  documents,
  files,
  firstCells,
  linksOf,
  sectionOf,
  spansOf,
} from "./documents.ts";
import type { ShellCommand } from "./documents.ts";
import { faults } from "./faults/faults.ts";
import { steps, stepSets } from "./plan.ts";
import { pathOf } from "./runtimes.ts";

const test = suite("readme");

const readme = documentAt("README.md");
const manifest = JSON.parse(await readFile(pathOf("package.json"), "utf8"));
const source = (await Promise.all(
  [...files.filter((path) => /\.(tsx?|py)$/.test(path)), ".ci/run"].map((path) => readFile(pathOf(path), "utf8")),
)).join("\n");

/** Runs a check on every document, whose failures name it. */
const everywhere = (name: string, check: (text: string, path: string) => void) =>
  test(name, () => {
    for (const { path, text } of documents) {
      try {
        check(text, path);
      } catch (error) {
        throw new Error(`${path}: ${error instanceof Error ? error.message : error}`, { cause: error });
      }
    }
  });

// On 2026-11-27 OpenAI announced the end of gpt-4o and gpt-5 models until 2027-04, and none of gpt-6. Dates of the other
// makers' models are not known here: only the generations in use are allowed.
const isGone = (model: string) =>
  /^gpt-(3|4|5)|^claude-(2|3|opus-4|sonnet-4|haiku-4)|^gemini-(1|2)|^grok-(1|2|3)/.test(model);

test("models that documents, the demo and examples name have a price, and are not about to retire", async () => {
  const shown = ["src/runtime/demo/demo-texts.ts", "src/schema/serving.ts", "src/console/money/prices.tsx"];
  const texts = [
    ...documents.map(({ text }) => text),
    ...await Promise.all(shown.map((path) => readFile(pathOf(path), "utf8"))),
  ];
  const models = texts.flatMap((text) =>
    Array.from(text.matchAll(/\b(?:gpt|claude|gemini|grok)-[\w.-]*\d[\w.-]*/g), ([model]) => model.replace(/[.-]$/, ""))
  );
  assert.ok(models.length > 10);
  for (const model of models) {
    assert.ok(calcPrice({ input_tokens: 1 }, model) !== null && !isGone(model), model);
  }
});

/** Throws what is wrong with the words after `promptledger`. */
function checkPromptledger(typed: string[]): void {
  if (typed.length === 0 || ["--help", "--version"].includes(typed[0]!)) return;
  const words = commandFirst(typed);
  const isCalled = (name: string[]) => name.every((word, index) => word === words[index]);
  const called = commands.filter(({ name }) => isCalled(name));
  if (words.at(-1) === "--help") {
    assert.ok(commands.some(({ name }) => name[0] === words[0]), words.join(" "));
    return;
  }
  assert.ok(called.length > 0, `no command ${words.join(" ")}`);
  const faultsOf = called.map((command) => {
    try {
      const args = readArguments(command.parameters, words.slice(command.name.length));
      return command.check?.(args);
    } catch (error) {
      return (error as Error).message;
    }
  });
  assert.ok(faultsOf.includes(undefined), `${words.join(" ")}: ${faultsOf.join("; ")}`);
}

/** Options of test/check.ts and test/repeat.ts. */
const ofTests = ["--record", "--shuffle", "--times", "--beside", "--syncs"];

/** Options of test/bench/simulate.ts. */
const ofSimulations = ["--rollouts", "--records", "--seed", "--json"];

/** Throws what is wrong with a script of package.json and its arguments. */
function checkScript(name: string, args: string[]): void {
  assert.ok(Object.hasOwn(manifest.scripts, name), `no script ${name}`);
  if (name === "cli") checkPromptledger(args);
  else if (name === "bench") readOptions(args);
  else if (name === "faults") {
    const values = args.flatMap((arg, index) => args[index - 1] === "--fault" ? [arg] : []);
    for (const part of values) assert.ok(Object.keys(faults).some((fault) => fault.includes(part)), part);
    for (const option of args.filter((arg) => arg.startsWith("--"))) assert.ok(source.includes(option), option);
  } else if (name === "simulate") {
    for (const option of args.filter((arg) => arg.startsWith("--"))) assert.ok(ofSimulations.includes(option), option);
  } else if (name === "test:repeat") {
    for (const option of args.filter((arg) => arg.startsWith("--"))) assert.ok(ofTests.includes(option), option);
  } else if (name.startsWith("test:")) {
    for (const pattern of args) assert.ok(files.some((file) => file.includes(`${pattern}.test.ts`)), pattern);
  } else if (name === "check") {
    for (const step of args) assert.ok([...steps, ...Object.keys(stepSets), ...ofTests].includes(step), step);
  } else if (name === "hosts") {
    for (const app of args) assert.ok(files.includes(`test/hosts/apps/${app}/package.json`), app);
  } else assert.equal(args, []);
}

/** What each program that the documents call is checked for. */
const programs: Record<string, (words: string[]) => void> = {
  promptledger: checkPromptledger,
  npm([verb, ...words]) {
    if (verb === "run") {
      const [name, ...args] = words.filter((word) => word !== "-s" && word !== "--");
      checkScript(name!, args);
    } else if (verb === "test" || verb === "start") checkScript(verb, words);
    else assert.ok(["ci", "pack", "install", "root"].includes(verb!), `npm ${verb}`);
  },
  npx([program, ...words]) {
    if (program === "uvu") return assert.ok(files.some((file) => new RegExp(words.at(-1)!).test(file)), words.at(-1));
    assert.is(program, "promptledger");
    checkPromptledger(words);
  },
  docker([verb, ...words]) {
    if (verb === "build") assert.ok(existsSync(pathOf(words[words.indexOf("-f") + 1]!)));
    else if (verb === "exec" || verb === "run") checkPromptledger(words.slice(words.lastIndexOf("promptledger") + 1));
    else assert.is(verb, "push");
  },
  kubectl([verb, ...words]) {
    if (verb === "apply") assert.ok(existsSync(pathOf(words[words.indexOf("-f") + 1]!)));
    else if (verb === "exec") checkPromptledger(words.slice(words.lastIndexOf("promptledger") + 1));
    else assert.is(verb, "create");
  },
  // The tests start sqld with these options, and send what curl sends.
  sqld: (words) =>
    words.filter((word) => word.startsWith("-")).forEach((word) => assert.ok(source.includes(word), word)),
  curl: (words) => assert.ok(words.some((word) => word.startsWith("http://127.0.0.1:"))),
  systemctl: (words) => assert.ok(files.includes(`src/deploy/${words.at(-1)}.service`)),
  cp: ([from]) => assert.ok(files.includes(from!.replace(/^.*\/promptledger\/(?=src\/)/, "")), from),
  git: ([verb]) => assert.ok(["clone", "commit"].includes(verb!), `git ${verb}`),
  cd: () => {},
  node: (words) => assert.ok(files.includes(words.at(-1)!), words.at(-1)),
  mkdir: () => {},
  age: ([direction, ...words]) => assert.equal([direction, words.indexOf("--identity")], ["--decrypt", 0]),
  gunzip: () => {},
  openssl: () => {},
  umask: () => {},
  sqlite3: () => {},
  export: (settings) => void readConfig(Object.fromEntries(settings.map((setting) => setting.split("=")))),
};

function check({ settings, words: [program, ...words] }: ShellCommand): void {
  assert.ok(Object.hasOwn(programs, program!), `no program ${program}`);
  readConfig(settings);
  programs[program!]!(words);
}

everywhere("commands in blocks exist, and take the options that they are given", (text) => {
  for (const command of blocksOf(text, "sh").flatMap(commandsIn)) check(command);
});

const nouns = new Set(commands.map(({ name: [noun] }) => noun!));

everywhere("commands in the prose exist, and take the options that they are given", (text) => {
  // JavaScript has a word export too.
  for (const span of spansOf(text).filter((span) => !/NOUN|^export (default|const|\{)/.test(span))) {
    const [program, ...words] = span.split(" ");
    if (/^(npm|[A-Z_]+=\S+ (npm|promptledger)) /.test(span)) commandsIn(span).forEach(check);
    else if (program === "promptledger" || nouns.has(program!) && words.length > 0) {
      const named = program === "promptledger" ? words : [program!, ...words];
      // A command that is only named needs no arguments.
      if (commands.some(({ name }) => name.join(" ") === named.join(" "))) continue;
      checkPromptledger(named);
    }
  }
});

everywhere("options in the prose exist", (text) => {
  const others = ["--init", "--build", "--scenario", "--runtime", "--store", "--fault"];
  const known = [...others, ...ofTests, ...commands.flatMap(({ parameters }) => parameters.map(({ label }) => label))];
  for (const option of spansOf(text).flatMap((span) => /^--[a-z-]+/.exec(span) ?? [])) {
    assert.ok(known.includes(option), option);
  }
});

everywhere("variables and metrics are named as in the code", (text) => {
  const ofRuntimes = ["NODE_USE_ENV_PROXY", "NODE_EXTRA_CA_CERTS", "DENO_CERT", "DENO_TLS_CA_STORE"];
  for (const [name] of text.matchAll(/\b[A-Z][A-Z\d]*(_[A-Z\d]+)+\b/g)) {
    assert.ok(ofRuntimes.includes(name) || source.includes(name), name);
  }
  for (const [name] of text.matchAll(/\b(promptledger|process)(_[a-z]+)+\b/g)) {
    assert.ok(source.includes(`"${name.replace(/_bucket$/, "")}"`), name);
  }
});

test("src/deploy/README.md lists every setting, and the README some of them", () => {
  const read = new Set<string>();
  const env: Record<string, string> = { DATABASE_URL: "http://127.0.0.1:8080" };
  readConfig(new Proxy(env, { get: (target, name: string) => (read.add(name), target[name]) }));
  const local: Record<string, string> = { BACKUP_TO: "backups" };
  readConfig(new Proxy(local, { get: (target, name: string) => (read.add(name), target[name]) }));
  const settings = sectionOf(documentAt("src/deploy/README.md"), "Settings");
  for (const name of read) assert.ok(settings.includes(`\`${name}\``), name);
  assert.equal(firstCells(settings).flatMap(spansOf).filter((name) => !read.has(name)), []);
  const named = spansOf(sectionOf(readme, "Settings")).filter((span) => /^[A-Z_]+$/.test(span));
  assert.equal(named.filter((name) => !read.has(name)), []);
});

test("the table of weights states the budgets that tests hold", () => {
  const stated = sectionOf(readme, "Weight").split("\n").filter((line) => line.startsWith("| "))
    .slice(1).map((line) => line.split(" | ")[2]);
  const { bytes: { read, record }, client, console, installed, requests } = budgets;
  const numbers = ({ alone, shared, spread }: typeof read) => `${alone}, ${shared}, ${spread}`;
  assert.equal(stated, [
    "–",
    `${installed.packages} packages, ${installed.megabytes} MB`,
    `${client.minified / 1000} kB, ${client.compressed / 1000} kB`,
    `${requests.prompts}, ${requests.records}`,
    "–",
    numbers(read),
    numbers(record),
    `${console.page / 1000} kB`,
  ]);
});

test("the options of createService are all listed", () => {
  const listed = firstCells(sectionOf(documentAt("src/http/README.md"), "Embedding")).flatMap(spansOf);
  let known: string[] = [];
  try {
    checkSettings({ unknown: 1 });
  } catch (error) {
    known = /Allowed: (.*)$/.exec((error as Error).message)![1]!.split(", ");
  }
  assert.equal(listed.sort(), known.sort());
});

test("the options, errors and events of the client are all listed", async () => {
  const listed = (section: string) =>
    firstCells(sectionOf(documentAt("src/client/README.md"), section)).flatMap(spansOf);
  const namesIn = async (file: string, pattern: RegExp) =>
    Array.from((await readFile(pathOf(`src/client/${file}`), "utf8")).matchAll(pattern), ([, name]) => name!);
  assert.equal(listed("Options").sort(), (await namesIn("options.ts", /^ {2}(\w+)\?:/gm)).sort());
  const errors = await namesIn("errors.ts", /^export class (\w+)/gm);
  assert.equal([...new Set(listed("Errors"))].sort(), errors.sort());
  assert.equal(listed("Events").sort(), (await namesIn("events.ts", /^ {2}(\w+): \{/gm)).sort());
});

everywhere("paths lead to files", (text, document) => {
  const isPath = /^(\.{1,2}\/|\.ci\/)?[\w-]+(\/[\w.-]+)*(\.(ts|md|sql|service|lua)|\/)$|^(src|test|sql|\.ci)\/[\w/-]+$/;
  for (const path of spansOf(text).filter((span) => isPath.test(span))) {
    const places = [dirname(document), ".", "src"].map((folder) => normalize(join(folder, path)));
    const isThere = places.some((place) => existsSync(pathOf(place))) ||
      !path.includes("/") && files.some((file) => file.endsWith(`/${path}`));
    assert.ok(isThere, path);
  }
});

everywhere("links lead to files and headings", (text, document) => {
  for (const link of linksOf(text)) {
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? document : normalize(join(dirname(document), path));
    assert.ok(existsSync(pathOf(target)), link);
    if (anchor !== undefined) assert.ok(anchorsOf(documentAt(target).text).includes(anchor), link);
  }
});

everywhere("JSON is valid, and the package has its version", (text) => {
  for (const block of blocksOf(text, "json")) JSON.parse(block);
  for (const [, version] of text.matchAll(/promptledger-(?:client-)?(\d[\d.]*)\.tgz/g)) {
    assert.is(version, manifest.version);
  }
});

test("the changelog begins with this version, which all manifests have, and go down", async () => {
  const notes = documentAt("CHANGELOG.md").text;
  const versions = Array.from(notes.matchAll(/^## (\d+\.\d+\.\d+)$/gm), ([, version]) => version!);
  assert.is(versions[0], manifest.version);
  const descending = versions.toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }));
  assert.equal([versions, new Set(versions).size], [descending, versions.length]);
  const locked = JSON.parse(await readFile(pathOf("package-lock.json"), "utf8"));
  const jsr = JSON.parse(await readFile(pathOf("deno.json"), "utf8"));
  const all = [jsr.version, locked.version, locked.packages[""].version, version];
  assert.equal([...new Set(all)], [manifest.version]);
});

test("what the unit for systemd says about installing it is what its document says", async () => {
  const unit = await readFile(pathOf("src/deploy/promptledger.service"), "utf8");
  const { text } = documentAt("src/deploy/README.md");
  const lines = Array.from(unit.matchAll(/^# {3}(.+)$/gm), ([, line]) => line!);
  assert.ok(lines.length > 0);
  for (const line of lines) assert.ok(text.includes(`\n${line}\n`), line);
});

test.run();
