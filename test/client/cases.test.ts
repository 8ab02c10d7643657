// The cases of cases.json, which a client in any language can be held to: `fill` by this client and by the service, the others
// by this client against a service that answers as each step says.
// Runs on every runtime in CI.
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClientOn } from "../../src/client/client.ts";
import { MissingVariablesError, PromptLedgerError, QuotaExceededError } from "../../src/client/errors.ts";
import { fillMessages } from "../../src/client/fill.ts";
import type { MessageLists, Values } from "../../src/client/fill.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import type { Prompt } from "../../src/client/prompt.ts";
import { getsCandidate } from "../../src/client/rollout.ts";
import type { DiagnosisItem, Message } from "../../src/schema/shapes.ts";
import { isSignedWith, makeFeedbackToken } from "../../src/support/feedback-token.ts";
import type { FeedbackGrant } from "../../src/support/feedback-token.ts";
import { hashApiKey, sha256 } from "../../src/common/ids.ts";
import { jsonText } from "../../src/common/json-text.ts";
import { fillVariables } from "../../src/management/prompts/prompt-text.ts";
import { goodBody, noon } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";
import { createClock, names, textResponse } from "./stage.ts";

const test = suite("client cases");

type FillCase = {
  name: string;
  messages: Message[];
  values: Values;
  lists?: MessageLists;
  option?: "keep" | "empty";
  /** Whether the case is one of clients alone: the service has no such option. */
  clientOnly?: boolean;
  filled?: Message[];
  missing?: string[];
};

type Answer = null | "silent" | {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  text?: string;
  each?: object;
};

type Step = {
  service?: Record<string, string>;
  ask?: string;
  key?: string;
  session?: string;
  done?: boolean;
  submit?: object;
  record?: number;
  feedback?: number;
  close?: number;
  wait?: number;
  gives?: unknown;
  sent?: string[];
  sentAtLeast?: number;
  told?: string[];
  batches?: number[];
  keys?: number;
  recorded?: unknown[];
};

type Case = { name: string; options: ClientOptions; snapshot?: object; steps: Step[] };

const lists = ["cache", "refusals", "retries", "queue", "feedback", "rollouts", "snapshots"] as const;

/** The keys user-0 to user-9999, and SHA-256 over what each gets, a 1 if it is the candidate and a 0 if not. */
type Choices = { deployId: string; salt: string; digest: string };

type TokenCase = FeedbackGrant & { key: string; token: string };

type Cases =
  & { answers: Record<string, Answer>; fill: FillCase[]; tokens: TokenCase[]; choices: Choices }
  & Record<(typeof lists)[number], Case[]>;

const cases = JSON.parse(await readFile(pathOf("test/client/cases.json"), "utf8")) as Cases;

for (const { name, messages, values, lists, option, filled, missing, clientOnly } of cases.fill) {
  test(`fill: ${name}`, () => {
    const fill = () => fillMessages(messages, values, lists ?? {}, option === undefined ? {} : { missing: option });
    if (filled !== undefined) assert.equal(fill(), filled);
    else {assert.throws(fill, (error: unknown) => {
        assert.instance(error, MissingVariablesError);
        const { code, names } = error as MissingVariablesError;
        assert.equal([code, names], ["missing_variables", missing]);
        return true;
      });}
  });

  if (lists === undefined && option !== "empty" && !clientOnly) {
    test(`the service fills in alike: ${name}`, () => {
      const rendered = fillVariables(jsonText(JSON.stringify(messages)), values as Record<string, string>);
      if (filled !== undefined) assert.equal(JSON.parse(rendered.messages.text), filled);
      else assert.equal(rendered.missing, missing);
    });
  }
}

const deployId = "support/assistant@production";
const fallback = { messages: [{ role: "system", content: "You answer customers of {{shop}}." }] };

for (const list of lists) {
  for (const { name, options, snapshot, steps } of cases[list]) {
    test(`${list}: ${name}`, async () => {
      const clock = createClock(noon);
      const service = new Map<string, string>();
      const sent: string[] = [], told: string[] = [], batches: number[] = [];
      const keys = new Set<string>();
      const recorded: unknown[] = [];

      /** Notes a request. Gives how many records or pieces of feedback it has. */
      async function note(request: Request, requestName: string): Promise<number> {
        sent.push(requestName);
        if (requestName === "submit") keys.add(request.headers.get("Idempotency-Key")!);
        if (requestName !== "batch" && requestName !== "feedback") return 0;
        const { records, feedback } = await request.json() as {
          records?: DiagnosisItem[];
          feedback?: object[];
        };
        for (const { idempotencyKey, promptVersion = null, rollout = null } of records ?? []) {
          keys.add(idempotencyKey!);
          recorded.push([promptVersion, rollout]);
        }
        const { length } = (records ?? feedback)!;
        batches.push(length);
        return length;
      }

      /** Answers as the steps say. Only `silent` is not waited for. */
      async function fetch(request: Request): Promise<Response> {
        const { pathname, searchParams } = new URL(request.url);
        const requestName = names[`${request.method} ${pathname}`]!;
        assert.is(request.headers.get("Authorization"), "Bearer pl_key");
        if (searchParams.has("deployId")) assert.is(searchParams.get("deployId"), deployId);
        assert.is(request.headers.get("Accept-Rollout"), requestName === "read" ? "1" : null);
        const answer = cases.answers[service.get(requestName) ?? "unreachable"];
        if (answer === undefined) throw new Error(`No answer ${service.get(requestName)}`);
        const count = await clock.follow(note(request, requestName));
        if (answer === null) throw new TypeError("fetch failed");
        if (answer === "silent") return await new Promise(() => {});
        const { status, headers = {}, text, each } = answer;
        const body = each === undefined ? answer.body : { results: Array(count).fill(each) };
        return textResponse(status, text ?? JSON.stringify(body), headers);
      }

      const kept = snapshot && { snapshot: { load: () => JSON.stringify(snapshot), save() {} } };
      clock.hasSnapshot = kept !== undefined;
      const client = createClientOn(clock.runtime, { apiKey: "pl_key", fetch, ...options, ...kept });
      for (const event of ["change", "stale", "error", "recover", "drop"] as const) {
        client.on(event, () => void told.push(event));
      }
      const record = { deployId, ...goodBody };

      for (const [index, step] of steps.entries()) {
        for (const [requestName, answer] of Object.entries(step.service ?? {})) service.set(requestName, answer);
        let outcome: unknown = "pending";
        const action = act(step);
        action?.then((value) => outcome = describe(value), (error) => outcome = describe(error));
        for (let count = step.record ?? 0; count > 0; count--) client.record(record);
        for (let nth = 0; nth < (step.feedback ?? 0); nth++) {
          client.feedback("order-4711", { name: `name-${nth}`, value: true });
        }
        // The digest of a key takes real time.
        const settle = async () => {
          for (let left = 20; left > 0 && list === "rollouts" && action && outcome === "pending"; left--) {
            await clock.settle();
            await setTimeout(2);
          }
        };
        await settle();
        await clock.pass(step.wait ?? 0);
        await settle();
        const where = `step ${index + 1}`;
        if (step.gives !== undefined) assert.equal(pick(outcome, step.gives), step.gives, where);
        if (step.sent !== undefined) assert.equal(sent, step.sent, where);
        if (step.sentAtLeast !== undefined) assert.ok(sent.length >= step.sentAtLeast, where);
        if (step.told !== undefined) assert.equal(told, step.told, where);
        if (step.batches !== undefined) assert.equal(batches, step.batches, where);
        if (step.keys !== undefined) assert.is(keys.size, step.keys, where);
        if (step.recorded !== undefined) assert.equal(recorded, step.recorded, where);
        sent.length =
          told.length =
          batches.length =
          recorded.length =
            0;
      }

      function act({ ask, key, session, done, submit, close }: Step): Promise<unknown> | undefined {
        if (ask !== undefined) {
          const more = ask === "with fallback" ? { fallback } : {};
          return client.prompt(deployId, { key, sessionId: session, ...more }).then((prompt) => {
            if (done) prompt.call().done({ status: 1, output: "Hello" });
            return prompt;
          });
        }
        if (submit !== undefined) return client.submit(record);
        return close === undefined ? undefined : client.close({ timeout: close });
      }
    });
  }
}

type Vector = { deployId: string; salt: string; key: string; tenths: number; isCandidate: boolean };

test("each key of rollout-vectors.json gets its version", async () => {
  const vectors: Vector[] = JSON.parse(await readFile(pathOf("test/client/rollout-vectors.json"), "utf8"));
  for (const { deployId, salt, key, tenths, isCandidate } of vectors) {
    assert.is(await getsCandidate(deployId, { salt, percent: tenths / 10 }, key), isCandidate, key);
  }
});

test("half a surrogate pair counts as U+FFFD", async () => {
  const [half, replaced] = await Promise.all(["\ud800", "\ufffd"].map(async (key) => {
    const chosen = Array.from(
      { length: 100 },
      (_, percent) => getsCandidate("dep_1", { salt: "salt_1", percent }, key),
    );
    return await Promise.all(chosen);
  }));
  assert.equal(half, replaced);
});

test.full("10,000 keys get the same versions in every language", async () => {
  const { deployId, salt, digest } = cases.choices;
  const chosen = Array.from(
    { length: 10_000 },
    (_, nth) => getsCandidate(deployId, { salt, percent: (nth % 1_000 + 1) / 10 }, `user-${nth}`),
  );
  const text = (await Promise.all(chosen)).map((isCandidate) => isCandidate ? "1" : "0").join("");
  assert.is(await sha256(text), digest);
});

for (const { key, token, ...grant } of cases.tokens) {
  test(`a token for ${grant.record}`, async () => {
    assert.is(await makeFeedbackToken(await hashApiKey(key), grant), token);
    assert.ok(await isSignedWith(await hashApiKey(key), token));
  });
}

/** What cases say of an outcome. */
function describe(outcome: unknown): unknown {
  if (outcome instanceof QuotaExceededError) {
    const { code: error, retryable, limit, used, resetAt, upgradeUrl } = outcome;
    return { error, retryable, limit, used, resetAt: resetAt.toISOString(), upgradeUrl };
  }
  if (outcome instanceof PromptLedgerError) return { error: outcome.code, retryable: outcome.retryable };
  const { source, version, rollout } = outcome as Prompt;
  return source === undefined ? outcome : [source, version, ...(rollout === undefined ? [] : [rollout])];
}

/** The members that are wanted. */
const pick = (outcome: unknown, wanted: unknown): unknown =>
  typeof outcome !== "object" || outcome === null || Array.isArray(outcome) || typeof wanted !== "object" ||
    wanted === null
    ? outcome
    : Object.fromEntries(
      Object.keys(wanted).map((name) => [name, (outcome as Record<string, unknown>)[name]]),
    );

test.run();
