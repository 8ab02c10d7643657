// What people see of a plan whose notes and texts others wrote.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { toAnnotations } from "../../src/cli/github.ts";
import { formatPlan } from "../../src/cli/plan-text.ts";
import { jsonText } from "../../src/common/json-text.ts";
import { makePlan } from "../../src/files/plan.ts";
import type { LedgerPrompt } from "../../src/files/plan.ts";

const test = suite("plan text");

const hostile = "\x1b[2J\u202e\n→ fake@production: 1 → 2\r::add-mask::x";
const contentOf = (text: string) => ({
  title: "Title",
  description: "",
  messages: jsonText(JSON.stringify([{ role: "user", content: text }])),
  llmConfig: jsonText("{}"),
});

test("a hostile note or text controls no terminal, makes no line of its own, and gives GitHub no command", async () => {
  const author = { actor: hostile, source: "console", note: hostile, createdAt: 1, isFromFiles: false };
  const newest = { version: 1, content: contentOf("::stop-commands::x\n\x1b[2Jold"), ...author };
  const prompt: LedgerPrompt = {
    ...{ name: "chat", newest, isArchived: false, deployments: [] },
    findVersion: () => Promise.resolve(newest),
  };
  const file = { path: "chat.md", source: "", name: "chat", ownName: undefined, was: undefined, isWritten: true };
  const plan = await makePlan(
    [{ ...file, content: contentOf("::stop-commands::x\n\x1b[2Jnew") }],
    { deploy: new Map(), pinned: new Map() },
    new Map([["chat", prompt], ["other", { ...prompt, name: "other" }]]),
  );
  for (const text of [formatPlan(plan, false), toAnnotations(plan, "prompts")]) {
    assert.not.match(text, /[^\P{Cc}\n]|\u202e/u);
    const lines = text.trimEnd().split("\n");
    for (const line of lines) assert.not.match(line, /^\s*(→|::(?!warning\b|notice\b))/, line);
    assert.is(lines.filter((line) => line.includes("fake@production")).length, 2);
  }
});

test.run();
