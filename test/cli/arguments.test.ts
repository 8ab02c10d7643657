// Parsing by usage lines, beyond what the tests of commands show.
// Runs on Node alone.
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readArguments } from "../../src/cli/frame/arguments.ts";
import type { Arguments } from "../../src/cli/frame/arguments.ts";
import type { Call, Command, CommandContext } from "../../src/cli/frame/command.ts";
import { commands, findByName } from "../../src/cli/commands.ts";
import { readValue } from "../../src/cli/nouns/feedback-files.ts";
import { help } from "../../src/cli/help.ts";
import { isNeeded, isWorkspace, readUsage, usageOf } from "../../src/cli/frame/parameters.ts";
import type { Parameter } from "../../src/cli/frame/parameters.ts";
import { stringify } from "../../src/common/json-text.ts";
import type { AnyOperation } from "../../src/management/kernel/operation.ts";
import { commandFirst } from "../../src/cli/run.ts";
import { terminal } from "../../src/runtime/terminal.ts";
import { readObject } from "../../src/schema/parse.ts";
import { promptFile } from "../helpers.ts";
import { runIn } from "./places.ts";

const test = suite("arguments");

const readBy = (usage: string, argv: string[]) => readArguments(readUsage(usage).parameters, argv);

const message = (usage: string, ...argv: string[]): string => {
  try {
    readBy(usage, argv);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};

test("durations are converted to ms, and a time may be a duration ago", () => {
  const read = (text: string) => readBy("x [--for DURATION]", ["--for", text]).number("for");
  assert.equal(["45s", "30m", "12h", "90d", "0s"].map(read), [45_000, 1_800_000, 43_200_000, 7_776_000_000, 0]);
  for (const text of ["", "1", "1w", "1.5h", "-1h", "1h30m", "9999999999d", "1 h", "1H"]) {
    assert.match(message("x [--for DURATION]", `--for=${text}`), "--for must be a duration such as");
  }
  const at = (text: string) => readBy("x [--from TIME]", ["--from", text]).number("from");
  const before = Date.now(), ago = at("24h") + 86_400_000;
  assert.ok(before <= ago && ago <= Date.now());
  assert.is(at("2027-01-31"), Date.UTC(2027, 0, 31));
  assert.is(at("2027-01-31T18:00:00+02:00"), Date.UTC(2027, 0, 31, 16));
  assert.is(at("999999999d"), 0);
  const wrong = ["", "now", "2027-02-30", "2027-01-31T18", "2027-01-31T25:00", "2027-01-31 18:00", "2027-01-31T18:00z"];
  for (const text of wrong) {
    assert.match(message("x [--from TIME]", `--from=${text}`), /^--from must be a time such as [^.]*$/, text);
  }
});

test("a time without a zone is in UTC on every machine, and a day is its start there", () => {
  const at = (text: string) => readBy("x [--from TIME]", ["--from", text]).number("from");
  const zone = process.env.TZ;
  try {
    for (const TZ of ["UTC", "America/New_York", "Pacific/Kiritimati"]) {
      process.env.TZ = TZ;
      assert.is(at("2026-11-23T14:03"), Date.UTC(2026, 10, 23, 14, 3), TZ);
      assert.is(at("2026-11-23T14:03:59.5"), Date.UTC(2026, 10, 23, 14, 3, 59, 500), TZ);
      assert.is(at("2026-11-23"), Date.UTC(2026, 10, 23), TZ);
    }
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test("help says in which zone a time is", () => {
  for (const words of [["deploy", "at"], ["record", "list"], ["key", "create"]]) {
    assert.match(help(words)!.replace(/\s+/g, " "), "in UTC unless it has a zone", words.join(" "));
  }
});

test("an unknown option is named, with the one that was probably meant", () => {
  assert.is(message("x [--failures] [--from TIME]", "--failure"), "Unknown option --failure. Did you mean --failures?");
  assert.is(message("x [--failures] [--from TIME]", "--zzz"), "Unknown option --zzz");
});

test("a duration is at most what the service accepts", () => {
  assert.is(readBy("x [--for DURATION]", ["--for", "3660d"]).number("for"), 3660 * 86_400_000);
  assert.match(message("x [--for DURATION]", "--for=3661d"), "--for must be a duration such as 45s, 30m, 12h or 90d, ");
  assert.is(message("x [--older-than AGE]", "--older-than=23h"), "--older-than must be between 1d and 3660d");
  assert.is(message("x [--older-than AGE]", "--older-than=1w"), "--older-than must be between 1d and 3660d");
});

test("a retention is a duration of a day at least, or forever", () => {
  const keep = (text: string) => readBy("x [--keep RETENTION]", ["--keep", text]);
  assert.is(keep("90d").findNumber("keep"), 90 * 86_400_000);
  assert.equal([keep("forever").findNumber("keep"), keep("forever").findText("keep")], [undefined, ""]);
  assert.is(message("x [--keep RETENTION]", "--keep=23h"), "--keep must be between 1d and 3660d, or forever");
});

test("an expiry is a time, or a duration from now", () => {
  const at = (text: string) => readBy("x [--expires EXPIRY]", ["--expires", text]).number("expires");
  assert.is(at("2026-12-31"), Date.UTC(2026, 11, 31));
  assert.ok(Math.abs(at("90d") - (Date.now() + 90 * 86_400_000)) < 10_000);
  assert.is(at("2026-12-31T23:59"), Date.UTC(2026, 11, 31, 23, 59));
  for (const text of ["soon", "2027-01-01T", "2027-02-30"]) {
    const error = "--expires must be a time such as 2027-01-31T18:00";
    assert.match(message("x [--expires EXPIRY]", "--expires", text), error);
  }
});

test("a number that is too small gets the same message as text that is no number", () => {
  for (const text of ["0", "abc", "-1"]) {
    assert.is(message("x [--version N]", `--version=${text}`), "--version must be an integer from 1 to 2^53 - 1");
    const isLimit = text === "0";
    const limit = message("x [--limit REQUESTS]", `--limit=${text}`);
    assert.is(limit, isLimit ? "" : "--limit must be an integer from 0 to 2^53 - 1");
  }
});

test("no number is read from what has a separator, another base or a sign", () => {
  const placeholders = [
    "N",
    "REQUESTS",
    "TOKENS",
    "NUMBER",
    "PERCENT",
    "USD",
    "DURATION",
    "LATENCY",
    "AGE",
    "RETENTION",
    "WINDOW",
  ];
  for (const placeholder of placeholders) {
    for (
      const text of ["1,5", "10,00", "1 000", "1'000", "1_000", "0x10", "+5", "5.", ".5", "1,5h", "1.5d", "1 d", "0x1s"]
    ) {
      const said = message(`x [--value ${placeholder}]`, `--value=${text}`);
      assert.match(said, /^--value must be /, `${placeholder} ${text}`);
    }
  }
});

test("a value of feedback with a comma in its digits is refused, and any other text is a label", () => {
  assert.equal(["0.5", "-1e2", "true", "kind", "1.2.3", "a,b", "1, 2"].map(readValue), [
    ...[0.5, -100, true, "kind", "1.2.3", "a,b", "1, 2"],
  ]);
  for (const text of ["1,5", "-0,25", "1,000,000"]) {
    assert.throws(() => readValue(text), /must have a point before decimals/);
  }
});

test("an option without its value says what it needs, whatever comes after it", () => {
  const needs = "--deploy needs a value: --deploy NAME";
  assert.is(message("x [--deploy NAME]", "--deploy"), needs);
  assert.is(
    message("x [--deploy NAME]", "--deploy", "--json"),
    `${needs}, or --deploy=VALUE if the value begins with -`,
  );
  assert.is(readBy("x [--deploy NAME]", ["--deploy=--json"]).text("deploy"), "--json");
});

test("an option with dots may be given several times, each a name and a value", () => {
  const { values } = readBy("x [--render NAME=VALUE]...", [
    "--render",
    "a=1",
    "--render=b=x=y",
    "--render",
    "c=",
  ]);
  assert.equal(values("render"), { a: "1", b: "x=y", c: "" });
  const own = readBy("x [--render NAME=VALUE]...", ["--render", "__proto__=1"]).values("render");
  assert.equal(Object.entries(own), [["__proto__", "1"]]);
  assert.match(message("x [--render NAME=VALUE]...", "--render", "=1"), "--render must be a name and a value");
  assert.is(message("x [--a NAME=VALUE]", "--a", "a=1", "--a", "b=1"), "--a was given 2 times");
});

test("a choice accepts the values that it names", () => {
  assert.is(readBy("x [--format ndjson|csv]", ["--format", "csv"]).findText("format"), "csv");
  assert.is(message("x --format ndjson|csv"), "Missing --format ndjson|csv");
  assert.is(message("x [--format ndjson|csv]", "--format", "CSV"), "--format must be ndjson or csv");
});

const samples: Record<string, string> = {
  N: "1",
  CODE: "-1",
  TIME: "24h",
  EXPIRY: "90d",
  AGE: "2d",
  RETENTION: "forever",
  REQUESTS: "0",
  DURATION: "2d",
  "YYYY-MM": "2027-01",
  "NAME=VALUE": "a=b",
  "CODE=NAME": "1=ok",
  "PATH=VALUE": "a.b=c",
  TIER: "above=200000 input=4 output=12",
  CONDITION: "thumb=false",
  LATENCY: "800ms",
  TOKENS: "0",
  USD: "0.15",
  URL: "https://example.com",
  CURSOR: "7",
  POSITION: "7",
  TYPES: "deployment.*",
  FILE: "file.json",
  NAME: "name",
  DEPLOYMENT: "production",
  ACTION: "deployment.promoted",
  VALUE: "true",
  NUMBER: "0.5",
  PERCENT: "50",
  PERCENTS: "50,80,100",
  LIMITS: "failures=+2%",
  LIMIT: "failures>5%",
  WINDOW: "15m",
  STATE: "firing",
  APPROVALS: "1",
  WORKSPACE: "ws_1",
};

const argvOf = (parameters: Parameter[]) =>
  parameters.filter(({ name }) => !["help", "server"].includes(name)).flatMap(({ name, placeholder, isOption }) => {
    if (placeholder === undefined) return [`--${name}`];
    const value = samples[placeholder] ?? placeholder.split("|")[0]!;
    return isOption ? [`--${name}=${value}`] : [value];
  });

/** The context of a command whose files have what it expects. */
function contextOf({ name: [noun] }: Command, args: Arguments, call: Call): CommandContext {
  const prices = [{ id: "name", models: [{ match: { equals: "m" }, prices: { input_mtok: 1, output_mtok: 2 } }] }];
  const feedback = { record: "order-1", name: "thumb", value: true };
  const file = { price: prices, feedback, webhook: "ghp_token" }[noun!] ?? promptFile;
  const unwritten = { append: () => Promise.resolve(), create: () => Promise.reject(new Error("no file")) };
  return { args, call, terminal: { ...terminal, ...unwritten, read: () => Promise.resolve(JSON.stringify(file)) } };
}

/** The first input that a command with these parameters passes to its operation. */
async function inputOf(command: Command, parameters: Parameter[]): Promise<object | undefined> {
  if ("runLocally" in command) return {};
  let passed: object | undefined;
  const call = ((operation: AnyOperation, input: object) => {
    passed = readObject(operation.input, stringify(input));
    return Promise.reject(new Error("no answer"));
  }) as Call;
  await command.run(contextOf(command, readArguments(command.parameters, argvOf(parameters)), call)).then(
    () => assert.unreachable(),
    (error: Error) => assert.is(error.message, "no answer", usageOf(command)),
  );
  return passed;
}

/** The names of the arguments that a command reads itself, or passes on to operations, which return two empty pages. */
async function namesUsed(command: Command, parameters: Parameter[]): Promise<Set<string>> {
  const used = new Set<string>();
  let calls = 0;
  if ("runLocally" in command) return used;
  const watch = (args: Arguments): Arguments =>
    Object.fromEntries(
      Object.entries(args).map(([key, value]) => [
        key,
        typeof value !== "function" ? value : (name: string, text: string) => {
          if (key === "with") return watch(args.with(name, text));
          used.add(name);
          return (value as (name: string) => unknown)(name);
        },
      ]),
    ) as Arguments;
  const call = ((_operation: AnyOperation, input: object) => {
    for (const { name, member } of parameters) if (member !== undefined && member in input) used.add(name);
    return ++calls < 3
      ? Promise.resolve({ items: [], nextCursor: null, next: 0 })
      : Promise.reject(new Error("enough"));
  }) as Call;
  // Most commands fail at such a response.
  await command.run(contextOf(command, watch(readArguments(command.parameters, argvOf(parameters))), call)).catch(
    () => {},
  );
  return used;
}

// What these read first are files, so that they have tests of their own.
const ofFiles = ["plan", "apply", "pull", "import"];

for (const command of commands.filter(({ name }) => !ofFiles.includes(name.join(" ")))) {
  const { parameters } = command;
  test(`${usageOf(command)}: its input fits the operation, with all options and with none`, async () => {
    const least = parameters.filter((each) => each.isRequired || isWorkspace(each) && isNeeded(each));
    assert.ok(await inputOf(command, parameters));
    if (command.check?.(readArguments(parameters, argvOf(least))) === undefined) {
      assert.ok(await inputOf(command, least));
    }
  });
}

// These read options after a response that nothing here makes.
const later = ["types live", "bundle live", "prompt pull --force", "prompt show --render", "export prompts --force"];

for (const command of commands) {
  const { name, parameters } = command, title = name.join(" ");
  if ("runLocally" in command || [...ofFiles, ...later].includes(title)) continue;
  test(`${usageOf(command)}: each option alone has an effect`, async () => {
    const least = parameters.filter((each) => each.isRequired || isWorkspace(each));
    for (const option of parameters.filter((each) => each.isOption && !least.includes(each))) {
      if (["server", "json", "help"].includes(option.name) || later.includes(`${title} ${option.label}`)) continue;
      const chosen = [...least, option];
      if (command.check?.(readArguments(parameters, argvOf(chosen))) !== undefined) continue;
      assert.ok((await namesUsed(command, chosen)).has(option.name), option.label);
    }
  });
}

for (const separator of ["=", " "]) {
  test(`options may stand before any command, with values behind ${separator === "=" ? separator : "a space"}`, () => {
    const separate = (word: string) => separator === "=" ? [word] : /^(--[a-z-]+)=(.*)$/.exec(word)?.slice(1) ?? [word];
    for (const { name, parameters } of commands) {
      const places = argvOf(parameters.filter(({ isOption }) => !isOption));
      const options = parameters.filter(({ isOption, name }) => isOption && !["server", "help"].includes(name));
      const workspace = options.some(isWorkspace) ? [["--workspace=key"]] : [];
      for (const argv of [...options.map((option) => argvOf([option])), argvOf(options), ...workspace]) {
        const before = argv.flatMap(separate), after = [...name, ...places, ...before];
        assert.equal(commandFirst([...before, ...name, ...places]), after, after.join(" "));
      }
    }
  });
}

test("an option before a command that lacks it, or without its value, gets the message of that command", async () => {
  const said = async (...args: string[]) => (await runIn(args, {})).said.split("\n")[0];
  assert.is(await said("--zzz", "key", "list"), "promptledger: Unknown option --zzz");
  assert.is(await said("--workspace", "key", "list"), "promptledger: --workspace needs a value: --workspace WORKSPACE");
  assert.is(await said("--prompt", "x", "key", "list"), "promptledger: Unknown option --prompt");
  assert.is(await said("--workspace", "x", "kee", "list"), "promptledger: unknown command kee list. Did you mean key?");
  assert.is(await said("kee", "key", "list"), "promptledger: unknown command kee key. Did you mean key?");
  assert.match((await runIn(["--workspace", "x", "help", "key", "list"], {})).out, /^promptledger key list /);
  assert.is(await said("--workspace", "x"), "promptledger: unknown command --workspace.");
});

test("a usage line is read into parameters, and written as it was", () => {
  const usage = "prompt show REF --from N [--all] [--render NAME=VALUE]... [--format ndjson|csv] [--month YYYY-MM]";
  const { name, parameters } = readUsage(usage);
  assert.equal([name, parameters.length], [["prompt", "show"], 8]);
  assert.is(usageOf({ name, parameters }), usage);
});

test("the command with the longest matching name runs, and help shows it alone", () => {
  const namesOf = (words: string[]) => findByName(words).map(({ name }) => name.join(" "));
  assert.equal([namesOf(["usage", "months"]), namesOf(["usage"])], [["usage months"], ["usage"]]);
  assert.match(help(["record", "delete"])!, /^promptledger record delete ID\n/);
});

test.run();
