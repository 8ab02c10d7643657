// What people see of a plan whose notes and texts others wrote.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { formatPlan, toAnnotations } from "../../src/cli/files/plan-text.ts";
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
  const file = {
    path: "chat.md",
    source: "",
    name: "chat",
    ownName: undefined,
    was: undefined,
    writing: "in place",
  } as const;
  const plan = await makePlan(
    [{ ...file, content: contentOf("::stop-commands::x\n\x1b[2Jnew") }],
    { deploy: new Map(), pinned: new Map() },
    new Map([["chat", prompt], ["other", { ...prompt, name: "other" }]]),
  );
  for (const text of [formatPlan(plan, false), toAnnotations(plan, (file) => `prompts/${file}`)]) {
    assert.not.match(text, /[^\P{Cc}\n]|\u202e/u);
    const lines = text.trimEnd().split("\n");
    for (const line of lines) assert.not.match(line, /^\s*(→|::(?!warning\b|notice\b))/, line);
    assert.is(lines.filter((line) => line.includes("fake@production")).length, 2);
  }
});

test("a promotion says which rollout it ends or completes", async () => {
  const author = { actor: "", source: "console", note: "", createdAt: 1, isFromFiles: true };
  const newest = { version: 8, content: contentOf("x"), ...author };
  const planOf = async (candidate: number) => {
    const rollout = { version: candidate };
    const state = { currentVersion: 7, revision: 3, isProtected: false, isArchived: false, rollout };
    const prompt: LedgerPrompt = {
      ...{ name: "chat", newest, isArchived: false },
      deployments: [{ name: "production", ...state, findPromotion: () => Promise.resolve(author) }],
      findVersion: () => Promise.resolve(newest),
    };
    const file = {
      path: "chat.md",
      source: "",
      name: "chat",
      ownName: undefined,
      was: undefined,
      writing: "in place",
    } as const;
    const manifest = { deploy: new Map([["production", "latest" as const]]), pinned: new Map() };
    return formatPlan(
      await makePlan([{ ...file, content: newest.content }], manifest, new Map([["chat", prompt]])),
      false,
    );
  };
  assert.match(await planOf(8), "→ chat@production: 7 → 8, completes the rollout of version 8\n");
  assert.match(await planOf(6), "→ chat@production: 7 → 8, ends the rollout of version 6\n");
});

test.run();
