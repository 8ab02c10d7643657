// Random histories of a folder of prompts and its ledger, which is changed elsewhere too, end with both in step.
// Runs on Node alone.
import fc from "fast-check";
import { mkdir, rm } from "node:fs/promises";
import process from "node:process";
import { isFull, seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { jsonText } from "../../src/common/json-text.ts";
import { toMessages } from "../../src/files/formats/content.ts";
import { readFolder } from "../../src/files/folder.ts";
import type { PromptFile } from "../../src/files/folder.ts";
import { writeChanged, writeNew } from "../../src/files/write.ts";
import { canAdd } from "../../src/runtime/folder.ts";
import type { LlmConfig } from "../../src/schema/serving.ts";
import { createFolder } from "../conformance/processes.ts";
import { runIn } from "./places.ts";
import { createPromptFolder } from "./prompt-folders.ts";
import type { PromptFolder } from "./prompt-folders.ts";

const test = suite("histories of prompt files");

const folder = await createFolder();
test.after(() => folder.remove());

const numRuns = Number(process.env.NUM_RUNS ?? (isFull ? 25 : 6));

const names = ["a", "b/c", "x.prompt", "_", ".d/e", "node_modules/f", "a.md/g"];
const name = fc.constantFrom(...names);
const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.constantFrom(
    "# user\nHi",
    "\\# system",
    "---",
    "\n\n x \n",
    "{{a}}",
    "{{history}}",
    "a\r\nb",
    "",
    "\ttab",
    "# placeholder {{x}}",
  ),
).map((text) => text.replaceAll("\0", ""));
const message = fc.oneof(
  fc.record({
    role: fc.constantFrom("system", "user", "assistant", "developer", "tool", "placeholder"),
    content: text,
  }),
  fc.record({ role: fc.constant("user"), content: fc.array(fc.record({ type: fc.constant("text"), text })) }),
  fc.record({ role: fc.constant("assistant"), content: text, tool_calls: fc.array(text) }),
);
const prompt: fc.Arbitrary<Prompt> = fc.record({
  title: fc.constantFrom("Title", "yes", "1.0", "a: b # c", "- 'x'"),
  description: fc.constantFrom("", "null", "Two\nlines"),
  messages: fc.array(message, { maxLength: 3 }),
  llmConfig: fc.dictionary(fc.constantFrom("model", "t", "1", "a b"), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
  declarations: fc.option(
    fc.constantFrom({ a: { type: "text" } }, { a: { type: "number", example: 1.5 }, "x.y": { type: "messages" } }),
    {
      nil: undefined,
    },
  ),
});

type Prompt = Record<"title" | "description", string> & { messages: object[]; llmConfig: object } & {
  declarations?: object | undefined;
};
type Step =
  | { kind: "write" | "push"; name: string; prompt: Prompt }
  | { kind: "remove" | "archive" | "promote" | "rename"; name: string }
  | { kind: "apply" | "pull" };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom("write" as const, "push" as const), name, prompt }),
  fc.record({
    kind: fc.constantFrom("remove" as const, "archive" as const, "promote" as const, "rename" as const),
    name,
  }),
  fc.record({ kind: fc.constantFrom("apply" as const, "pull" as const) }),
);

let made = 0;

/** A ledger of its own, and how commands are run on it. */
async function open() {
  const path = `${folder.path}/${made++}`;
  await mkdir(path);
  const env = { DATABASE_URL: `file:${path}/ledger.db`, USER: "ann" };
  await runIn(["workspace", "create", "--name", "Acme"], env);
  const repository = await createPromptFolder(`${path}/files`, {});
  return { path, repository, run: (args: string[], input?: string) => runIn(args, env, input) };
}

type World = Awaited<ReturnType<typeof open>>;

/** Does a step. What a ledger or the command refuses changes nothing, which is fine. */
async function act({ run, repository }: World, step: Step): Promise<void> {
  const at = ["--dir", repository.path];
  if (!("name" in step)) await run([step.kind, "--force", ...at]);
  else if (step.kind === "push") {
    await run(["prompt", "push", "-", "--name", step.name, "--new"], JSON.stringify(step.prompt));
  } else if (step.kind === "archive") await run(["prompt", "archive", step.name]);
  else if (step.kind === "promote") await run(["deploy", "promote", `${step.name}@production`, "--version", "1"]);
  else await edit(repository, step, () => run(["apply", "--force", ...at]));
}

/** Changes the files, of which each prompt has at most one. */
async function edit(
  repository: PromptFolder,
  step: Extract<Step, { name: string }>,
  apply: () => Promise<unknown>,
): Promise<void> {
  const files = await repository.readAll();
  const { prompts } = readFolder(new Map(Object.entries(files)));
  const own = prompts.find(({ name }) => name === step.name);
  const isFree = (path: string) => canAdd(new Set(Object.keys(files)), path);
  if ("prompt" in step) {
    const { title, description, messages, llmConfig, declarations } = step.prompt;
    // A new prompt takes the name of another one after that has got its own.
    if (own === undefined && prompts.some(({ was }) => was === step.name)) await apply();
    const given = { messages: toMessages(messages), llmConfig: jsonText(JSON.stringify(llmConfig)) as LlmConfig };
    const declared = declarations === undefined ? {} : { declarations: jsonText(JSON.stringify(declarations)) };
    const content = { title, description, ...given, ...declared };
    const written = own === undefined ? writeNew(step.name, content, isFree) : writeChanged(own, content, isFree);
    if (written === undefined) return;
    await repository.put({ [written.path]: written.text });
    if (written.replaces !== undefined) await repository.put({ [written.replaces]: null });
  } else if (own !== undefined && step.kind === "remove") {
    await repository.put({ [own.path]: null });
  } else if (own !== undefined && !prompts.some(({ name }) => name === "renamed")) {
    await repository.put({ [own.path]: renamed(own) });
  }
}

function renamed({ path, source, name }: PromptFile): string {
  if (path.endsWith(".json")) {
    return JSON.stringify({ ...JSON.parse(source) as object, name: "renamed", was: name });
  }
  return source.replace(/^(name|was): .*\n/gm, "").replace("---\n", `---\nname: renamed\nwas: ${name}\n`);
}

const nothing = "Nothing to do: files and ledger are the same\n";

async function endsInStep(steps: Step[]): Promise<void> {
  const world = await open();
  try {
    for (const step of steps) await act(world, step);
    const { path, repository, run } = world;
    const at = ["--dir", repository.path];

    // Everything of the ledger in a folder of its own is what the ledger has.
    const copy = await createPromptFolder(`${path}/copy`, { "promptledger.yml": "deploy: {}\n" });
    const pulled = await run(["pull", "--dir", copy.path]);
    assert.is(pulled.code, 0, pulled.said);
    const same = await run(["plan", "--check", "--prune", "--dir", copy.path]);
    assert.equal([same.code, same.out], [0, nothing]);

    // Everything of the files in the ledger is what the files have, and a second time does nothing. An archived prompt comes back by hand.
    for (const { name } of readFolder(new Map(Object.entries(await repository.readAll()))).prompts) {
      await run(["prompt", "unarchive", name]);
      await run(["deploy", "unarchive", `${name}@production`]);
    }
    const applied = await run(["apply", "--force", "--prune", ...at]);
    assert.is(applied.code, 0, applied.said);
    const after = await run(["plan", "--check", "--prune", ...at]);
    assert.equal([after.code, after.out], [0, nothing]);
    assert.match((await run(["apply", "--prune", ...at])).said, "Nothing to do");
    const before = await repository.readAll();
    assert.is((await run(["pull", "--force", ...at])).code, 0);
    assert.equal(await repository.readAll(), before);
    assert.is((await run(["verify"])).code, 0);
  } finally {
    await rm(world.path, { recursive: true });
  }
}

test(`random histories end with files and ledger in step (seed ${seed})`, async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 12 });
  const message = { role: "user", content: "Lines of\r\nWindows" };
  const pushed: Step = {
    kind: "push",
    name: "a",
    prompt: { title: "A", description: "", messages: [message], llmConfig: {} },
  };
  // Files of a renamed prompt and of a new one that takes its name.
  const empty = { title: "B", description: "", messages: [], llmConfig: {} };
  const renamed: Step[] = [
    { kind: "push", name: "b/c", prompt: empty },
    { kind: "pull" },
    { kind: "rename", name: "b/c" },
    { kind: "write", name: "b/c", prompt: { ...empty, title: "C" } },
  ];
  await fc.assert(fc.asyncProperty(steps, endsInStep), { numRuns, examples: [[[pushed]], [renamed]] });
});

test.run();
