// The types of prompts, as applications compile them.
// Runs on Node alone.
import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { jsonText, stringify } from "../../src/common/json-text.ts";
import { toPython, toTypeScript } from "../../src/files/types.ts";
import type { TypedPrompt } from "../../src/files/types.ts";
import { variablesOf } from "../../src/management/prompts/prompt-text.ts";
import { createFolder } from "../conformance/processes.ts";
import { blocksOf, documentAt, sectionOf } from "../documents.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";

const test = suite("types of prompts");

const run = promisify(execFile);

const promptOf = (
  reference: string,
  messages: object[],
  llmConfig: object = {},
  declarations?: Record<string, object>,
): TypedPrompt => ({
  reference,
  content: {
    title: "",
    description: "",
    messages: jsonText(stringify(messages)),
    llmConfig: jsonText(JSON.stringify(llmConfig)),
    ...(declarations === undefined ? {} : { declarations: jsonText(JSON.stringify(declarations)) }),
  },
});

const assistant = promptOf(
  "support/assistant@production",
  [
    { role: "system", content: "You answer customers of {{shop}}." },
    { role: "placeholder", content: "{{history}}" },
    { role: "user", content: "{{question}}" },
  ],
  { model: "small", temperature: 0.2, stop: [], tools: [{ name: "a" }, { name: "b" }], "top-p": null },
);
const plain = promptOf("plain@production", [{ role: "user", content: "Hello" }]);
const mixed = promptOf("mixed@production", [
  { role: "user", content: "{{text}} and {{both}}" },
  { role: "placeholder", content: "{{both}}" },
  { role: "user", content: [{ type: "text", text: "{{parts}}" }] },
  { role: "user", content: "{{both}}", name: "{{user}}" },
]);

const declared = promptOf(
  "declared@production",
  [
    { role: "system", content: "{{count}} {{isNew}} {{note}} {{__proto__}} {{other}} {{wrong}}" },
    { role: "placeholder", content: "{{history}}" },
    { role: "placeholder", content: "{{examples}}" },
    { role: "user", content: "{{question}}" },
  ],
  {},
  {
    count: { type: "number" },
    isNew: { type: "boolean" },
    note: { type: "text", required: false },
    ["__proto__"]: { type: "text", required: false },
    wrong: { type: "messages" },
    history: { type: "messages" },
    examples: { type: "messages", required: false },
    question: { type: "text" },
    unused: { type: "text" },
  },
);

test("a TypeScript module has the variables of each prompt, those that lists may fill, and the configuration", () => {
  assert.is(
    toTypeScript([assistant, plain]),
    `// Written by \`promptledger types\`. Do not edit it: run that again.

/** For createClient<Prompts>() of promptledger/client. */
export type Prompts = {
  "plain@production": {
    variables: never;
    lists: never;
    llmConfig: Record<string, never>;
  };
  "support/assistant@production": {
    variables: "shop" | "history" | "question";
    lists: "history" | "question";
    llmConfig: {
      model: string;
      temperature: number;
      stop: unknown[];
      tools: {
        name: string;
      }[];
      "top-p": null;
    };
  };
};

/** The references of all prompts. */
export type Reference = keyof Prompts;
`,
  );
});

test("declared types narrow the variables, and a constant has what stands for those that need no value", () => {
  assert.is(
    toTypeScript([declared]).split("\n").slice(2).join("\n"),
    `/** For createClient<Prompts>() of promptledger/client. */
export type Prompts = {
  "declared@production": {
    variables: "count" | "isNew" | "note" | "__proto__" | "other" | "wrong" | "history" | "examples" | "question";
    lists: "history" | "examples";
    types: {
      count: number | bigint;
      isNew: boolean;
      note: string;
      __proto__: string;
      history: readonly object[];
      examples: readonly object[];
      question: string;
    };
    optional: "note" | "__proto__" | "examples";
    llmConfig: Record<string, never>;
  };
};

/** The references of all prompts. */
export type Reference = keyof Prompts;

/** For createClient<Prompts>({ prompts }): what stands for variables that need no value. */
export const prompts = {
  "declared@production": { optional: { note: "", ["__proto__"]: "", examples: [] } },
} as const;
`,
  );
  const [module] = toPython([declared]).split("\nReference");
  assert.is(
    module!.slice(module!.indexOf("DeclaredProductionTexts")),
    `DeclaredProductionTexts = TypedDict("DeclaredProductionTexts", {
    "count": float,
    "isNew": bool,
    "other": Value,
    "wrong": Value,
    "question": str,
})

DeclaredProductionLists = TypedDict("DeclaredProductionLists", {
    "note": str,
    "__proto__": str,
}, total=False)

class DeclaredProduction(DeclaredProductionTexts, DeclaredProductionLists):
    pass

`,
  );
  assert.match(
    toPython([declared]),
    `
#: For Client(prompts=PROMPTS) of promptledger: what stands for variables that need no value.
PROMPTS = {
    "declared@production": {"optional": {"note": "", "__proto__": "", "examples": []}},
}
`,
  );
});

test("a Python module has them as TypedDicts, and only variables that lists may fill can be left out", () => {
  assert.is(
    toPython([assistant, plain, mixed]),
    `"""Written by \`promptledger types\`. Do not edit it: run that again."""

from typing import Literal, TypedDict, Union

Value = Union[str, int, float, bool]

MixedProduction = TypedDict("MixedProduction", {
    "text": Value,
    "both": Value,
    "parts": Value,
    "user": Value,
})

PlainProduction = TypedDict("PlainProduction", {
})

SupportAssistantProductionTexts = TypedDict("SupportAssistantProductionTexts", {
    "shop": Value,
})

SupportAssistantProductionLists = TypedDict("SupportAssistantProductionLists", {
    "history": Value,
    "question": Value,
}, total=False)

class SupportAssistantProduction(SupportAssistantProductionTexts, SupportAssistantProductionLists):
    pass


Reference = Literal[
    "mixed@production",
    "plain@production",
    "support/assistant@production",
]

#: The variables of each prompt, by its reference.
VARIABLES = {
    "mixed@production": MixedProduction,
    "plain@production": PlainProduction,
    "support/assistant@production": SupportAssistantProduction,
}
`,
  );
});

test("the modules depend on the prompts alone, not on their order", () => {
  const prompts = [assistant, plain, mixed, declared];
  for (const write of [toTypeScript, toPython]) assert.is(write(prompts), write(prompts.toReversed()));
});

test("names of Python classes that are alike, or mean something else, get a number", () => {
  const references = ["a-b@c", "a/b@c", "a.b@c", "none@-", "value@-", "-@_", "1@2"];
  const names = toPython(references.map((reference) => promptOf(reference, []))).matchAll(/^(\w+) = TypedDict/gm);
  assert.equal([...names].map(([, name]) => name), ["Prompt", "Prompt12", "ABC", "ABC2", "ABC3", "None2", "Value2"]);
});

const uses = `
import { createClient } from "promptledger/client";
import type { Client, Fallback, Message, Prompt, PromptOptions } from "promptledger/client";
import { forAiSdk } from "promptledger/ai-sdk";
import { prompts } from "./prompts.ts";
import type { Prompts, Reference } from "./prompts.ts";
const ledger: Client<Prompts> = createClient<Prompts>({ prompts });
const declared = await ledger.prompt("declared@production"), texts = { count: 1, isNew: true, other: 1, wrong: "" };
declared.fill({ ...texts, question: "Where?" }, { history: [] });
declared.fill({ ...texts, question: "Where?", note: "x", ["__proto__"]: "y" }, { history: [], examples: [] });
declared.fill({ ...texts, count: 1n, question: "", note: undefined }, { history: [] }, { missing: "throw" });
declared.fill({ count: 1 }, {}, { missing: "keep" });
const llmConfig = { model: "small", temperature: 0, stop: [], tools: [{ name: "search" }], "top-p": null };
const fallback = { messages: [], llmConfig };
const assistant = await ledger.prompt("support/assistant@production", { fallback });
await ledger.prompt("plain@production", { fallback: { messages: [], version: 1, title: "" } });
await ledger.prompt("plain@production", { fallback: undefined, key: "user-1" });
const mixed = await ledger.prompt("mixed@production"), plain = await ledger.prompt("plain@production");
const shop = "Acme", question = "Where?", history: Message[] = [];
export const messages: Message[] = assistant.fill({ shop, question, history: "none" });
assistant.fill({ shop, question }, { history });
assistant.fill({ shop: 1 }, { history, question: [] });
assistant.fill({ shop: 1n, question: true }, { history }, { missing: "throw" });
assistant.fill({ shop }, {}, { missing: "empty" });
assistant.fill(undefined, { history }, { missing: "keep" });
assistant.fill({ shop, question, history: "" }, {}, { missing: "keep" });
plain.fill();
plain.fill({}, {});
plain.fill(undefined, undefined, { missing: "empty" });
mixed.fill({ text: "", both: "", parts: "", user: "" }, {});
assistant.call().done({ status: 1, input: messages });
export const config: [string, number, string | undefined] =
  [assistant.llmConfig.model, assistant.llmConfig.temperature, assistant.llmConfig.tools[0]?.name];
export const references: Reference[] = ["plain@production", "mixed@production"];
const each = await ledger.prompt(references[0]!);
each.call();
createClient<Pick<Prompts, "plain@production" | "support/assistant@production">>();
forAiSdk(plain, plain.fill());
forAiSdk(assistant, assistant.fill({ shop, question }, { history }), { sessionId: "order-4711" });
forAiSdk({ ...each, llmConfig: { model: "small" } }, messages);
// Without types everything is as it was.
const untyped: Client = createClient();
const prompt = await untyped.prompt<{ model: string }>("any@thing");
prompt.fill({ any: 1 }, { lists: [] });
export const model: string = prompt.llmConfig.model;
forAiSdk(prompt, { any: 1 }, { lists: {}, missing: "empty" });
forAiSdk(prompt);
interface Config { model: string; temperature?: number }
const small: Fallback<Config> = { messages: [], llmConfig: { model: "small" } };
const small2: Prompt<Config> = await untyped.prompt("any@thing", { fallback: small });
await untyped.prompt<Config>("any@thing", { fallback: { messages: [], llmConfig: { model: "small", temperature: 0 } } });
await untyped.prompt<Partial<Config>>("any@thing", { fallback: { messages: [] } });
await untyped.prompt<Record<string, string>>("any@thing", { fallback: { messages: [] } });
await untyped.prompt("any@thing", { fallback: { messages: [], llmConfig: {} } });
const options: PromptOptions = { fallback: { messages: [{ role: "user", content: "Hi", more: 1 }] } };
const unknown = await untyped.prompt("any@thing", { fallback, key: small2.reference });
export const read: [unknown, unknown] = [unknown.llmConfig.temperature, (await untyped.prompt("a@b", options)).llmConfig.any];
`;

/** Each is an error. */
const mistakes = [
  'ledger.prompt("support/assistant@prod")',
  "assistant.fill({ shp: shop, question, history: '' })",
  "assistant.fill({ question, history: '' })",
  "assistant.fill({ shop, question })",
  "assistant.fill({ shop, question, history: '', more: '' })",
  "assistant.fill({ shop: null, question, history: '' })",
  "assistant.fill({ shop: {}, question, history: '' })",
  "assistant.fill({ shop, question }, { histroy: history })",
  "assistant.fill({ question }, { history })",
  "assistant.fill({ question }, { history, shop: [] })",
  "assistant.fill({ shop, question }, { history: 'none' })",
  "assistant.fill()",
  "assistant.fill({ shp: shop }, {}, { missing: 'empty' })",
  "assistant.fill({}, { shop: [] }, { missing: 'empty' })",
  "assistant.fill({ shop }, {}, { missing: 'throw' })",
  "mixed.fill({ text: '', parts: '', user: '' }, { both: [] })",
  "plain.fill({ shop })",
  "plain.fill({}, { history })",
  "plain.fill({ shop }, {}, { missing: 'keep' })",
  "assistant.llmConfig.top_p",
  "plain.llmConfig.model.length",
  "untyped.prompt('any@thing').fill()",
  // Values would not be checked.
  "forAiSdk(assistant)",
  "forAiSdk(assistant, { shop })",
  "forAiSdk(assistant, { shop, question, history: '' })",
  "forAiSdk(plain, { shop })",
  // `fill` would lack what stands for variables that need no value.
  "createClient<Prompts>()",
  "createClient<Prompts>({ url: 'http://127.0.0.1' })",
  "createClient<Prompts>({ prompts: undefined })",
  // A fallback must have what the type promises.
  "ledger.prompt('support/assistant@production', { fallback: { messages: [] } })",
  "ledger.prompt('support/assistant@production', { fallback: { messages: [], llmConfig: { model: 'small' } } })",
  "ledger.prompt('support/assistant@production', { fallback: { ...fallback, llmConfig: { ...llmConfig, tools: [{}] } } })",
  "ledger.prompt('plain@production', { fallback: { llmConfig: {} } })",
  "untyped.prompt<{ model: string }>('any@thing', { fallback: { messages: [] } })",
  "untyped.prompt<Config>('any@thing', { fallback: { messages: [], llmConfig: {} } })",
  "untyped.prompt<Config>('any@thing', { fallback: { messages: [], llmConfig: { model: 1 } } })",
  "untyped.prompt<Config>('any@thing', options)",
  "{ const typed: Promise<Prompt<Config>> = untyped.prompt('any@thing', { fallback: { messages: [] } }); void typed }",
  "({ messages: [] }) satisfies Fallback<Config>",
  "unknown.llmConfig.model.length",
  "declared.fill({ ...texts, question: '' })",
  "declared.fill({ ...texts, question: '' }, { examples: [] })",
  "declared.fill({ ...texts }, { history: [], question: [] })",
  "declared.fill({ ...texts, question: 1 }, { history: [] })",
  "declared.fill({ ...texts, question: '', count: '1' }, { history: [] })",
  "declared.fill({ ...texts, question: '', nota: '' }, { history: [] })",
  "declared.fill({ ...texts, question: '', history: '' }, { history: [] })",
  "declared.fill({ count: '1' }, {}, { missing: 'keep' })",
];

const name = fc.string({ unit: fc.constantFrom(..."aZ09_.$-éж日𝔘"), minLength: 1, maxLength: 8 });
const text = fc.string({ unit: "binary", maxLength: 8 });

/** Any prompt. Its reference is as hard as those that servers of other versions may allow. */
const anyPrompt = fc.record({
  reference: fc.oneof(text, name),
  messages: fc.array(fc.record({ role: text, content: fc.oneof(text, name.map((each) => `{{${each}}}`)) })),
  llmConfig: fc.dictionary(fc.oneof(text, name), fc.jsonValue()),
});

/** Prompts with a reference of their own each. */
const anyPrompts = fc.sample(anyPrompt, { numRuns: isFull ? 2_000 : 50, seed: 31 }).map(
  ({ reference, messages, llmConfig }, nth) => promptOf(`${reference}@${nth}`, messages, llmConfig),
);

// Compilers are the same on every runtime.
if (currentRuntime === "Node") {
  const folder = await createFolder();
  test.after(() => folder.remove());
  await writeFile(
    `${folder.path}/tsconfig.json`,
    JSON.stringify({
      extends: pathOf("tsconfig.json"),
      compilerOptions: {
        paths: {
          "promptledger/ai-sdk": [pathOf("src/client/ai-sdk/index.ts")],
          "promptledger/client": [pathOf("src/client/index.ts")],
        },
        typeRoots: [pathOf("node_modules/@types")],
      },
      include: ["."],
    }),
  );
  await writeFile(`${folder.path}/package.json`, '{"type":"module"}');

  /** Compiles files in a strict project. Returns what TypeScript prints. */
  const compile = async (files: Record<string, string>): Promise<string> => {
    for (const [name, content] of Object.entries(files)) await writeFile(`${folder.path}/${name}`, content);
    const { stdout } = await run(pathOf("node_modules/.bin/tsc"), ["--project", folder.path]).catch((error) => error);
    for (const name of Object.keys(files)) await rm(`${folder.path}/${name}`);
    return stdout;
  };

  test("what is right compiles in a strict project, and each mistake does not", async () => {
    const lines = mistakes.map((mistake) => `  // @ts-expect-error\n  ${mistake};\n`);
    const prompts = toTypeScript([assistant, plain, mixed, declared]);
    const app = `${uses}export function fail() {\n${lines.join("")}}\n`;
    assert.is(await compile({ "prompts.ts": prompts, "app.ts": app }), "");
    const printed = await compile({
      "prompts.ts": prompts,
      "app.ts": `${uses}assistant.fill({ shp: shop, question });\n`,
    });
    assert.match(printed, "'shp' does not exist");
    assert.match(printed, "Did you mean to write 'shop'?");
  });

  test("the examples of the client's document compile, and their fallback has the configuration that is read", async () => {
    const document = documentAt("src/client/README.md");
    const [first] = blocksOf(document.text, "ts");
    const [typed] = blocksOf(sectionOf(document, "Types and bundles"), "ts");
    const model = "export const model: string = prompt.llmConfig.model;\n";
    const prompts = toTypeScript([plain, assistant]);
    assert.is(await compile({ "prompts.ts": prompts, "first.ts": first + model, "typed.ts": typed + model }), "");
  });

  test("the module of any prompts compiles, and each configuration has its type", async () => {
    const configs = anyPrompts.map(({ reference, content }, nth) =>
      `export const config${nth}: Prompts[${JSON.stringify(reference)}]["llmConfig"] = ${content.llmConfig.text};\n` +
      `export const variables${nth}: Record<Prompts[${JSON.stringify(reference)}]["variables"], 1> = ${
        JSON.stringify(Object.fromEntries(variablesOf(content.messages).map((each) => [each, 1])))
      };\n`
    );
    const app = `import type { Prompts } from "./prompts.ts";\n${configs.join("")}`;
    assert.is(await compile({ "prompts.ts": toTypeScript(anyPrompts), "app.ts": app }), "");
  });

  let mypy: string | undefined;
  for (const each of isFull ? ["python3", "/usr/bin/python3"] : []) {
    if (await run(each, ["-m", "mypy", "--version"]).then(() => true, () => false)) mypy ??= each;
  }
  if (isFull && mypy === undefined) console.log("skipped: Python's types: mypy is not installed");
  if (mypy !== undefined) {
    test("mypy takes the module, the client and what is right, and finds each mistake", async () => {
      const app = [
        "from promptledger import Client",
        "from prompts import DeclaredProduction, PROMPTS, Reference, SupportAssistantProduction",
        "ledger = Client(prompts=PROMPTS)",
        'reference: Reference = "support/assistant@production"',
        'values: SupportAssistantProduction = {"shop": "Acme", "question": "Where?"}',
        'ledger.prompt(reference).fill(values, {"history": [{"role": "user", "content": "Hi"}]})',
        'wrong: Reference = "support/assistant@other"',
        'values = {"shp": "Acme"}',
        'declared: DeclaredProduction = {"count": "many"}',
        'ledger.prompt(reference).call().done(status="ok")',
      ];
      await writeFile(`${folder.path}/prompts.py`, toPython([assistant, plain, mixed, declared]));
      await writeFile(`${folder.path}/app.py`, `${app.join("\n")}\n`);
      const env = { ...process.env, MYPYPATH: pathOf("src/client/python/src") };
      const options = { cwd: folder.path, env };
      const args = ["-m", "mypy", "--strict", "--no-error-summary", "app.py"];
      const { stdout } = await run(mypy, args, options).catch((error) => error as { stdout: string });
      const lines = Array.from(stdout.matchAll(/^(\S+):(\d+): error/gm), ([, file, line]) => `${file}:${line}`);
      assert.equal([...new Set(lines)], ["app.py:7", "app.py:8", "app.py:9", "app.py:10"], stdout);
    });
  }

  const python = await run("python3", ["--version"]).then(() => "python3", () => undefined);
  if (python !== undefined) {
    test("the module of any prompts runs in Python, and has the variables of each", async () => {
      const path = `${folder.path}/prompts.py`;
      await writeFile(path, toPython(anyPrompts));
      const script = "import json, prompts; print(json.dumps({ reference: [sorted(each.__annotations__), " +
        "sorted(each.__required_keys__)] for reference, each in prompts.VARIABLES.items() })); " +
        "assert all(set(each) == {'optional'} for each in getattr(prompts, 'PROMPTS', {}).values())";
      const { stdout } = await run(python, ["-W", "error", "-c", script], { cwd: folder.path });
      const found = JSON.parse(stdout) as Record<string, [string[], string[]]>;
      assert.equal(Object.keys(found).sort(), anyPrompts.map(({ reference }) => reference).sort());
      for (const { reference, content } of anyPrompts) {
        const [all, needed] = found[reference]!;
        assert.equal(all.toSorted(), variablesOf(content.messages).sort(), reference);
        assert.ok(needed.every((each) => all.includes(each)));
      }
    });
  }
}

test.run();
