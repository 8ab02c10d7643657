// The cases of cases.json, which a client in any language can be held to: `fill` by this client and by the service, the others
// by this client against a service that answers as each step says.
import { readFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClientOn } from "../../src/client/client.ts";
import { MissingVariablesError, PromptLedgerError, QuotaExceededError } from "../../src/client/errors.ts";
import { fillMessages } from "../../src/client/fill.ts";
import type { MessageLists, Values } from "../../src/client/fill.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import type { Prompt } from "../../src/client/prompt.ts";
import type { Message } from "../../src/client/shapes.ts";
import { isSignedWith, makeFeedbackToken } from "../../src/common/feedback-token.ts";
import type { FeedbackGrant } from "../../src/common/feedback-token.ts";
import { hashApiKey } from "../../src/common/ids.ts";
import { jsonText } from "../../src/common/json-text.ts";
import { fillVariables } from "../../src/management/prompt-text.ts";
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
};

type Case = { name: string; options: ClientOptions; steps: Step[] };

const lists = ["cache", "refusals", "retries", "queue", "feedback"] as const;

type TokenCase = FeedbackGrant & { key: string; token: string };

type Cases =
  & { answers: Record<string, Answer>; fill: FillCase[]; tokens: TokenCase[] }
  & Record<(typeof lists)[number], Case[]>;

const cases = JSON.parse(await readFile(pathOf("test/client/cases.json"), "utf8")) as Cases;

for (const { name, messages, values, lists, option, filled, missing } of cases.fill) {
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

  if (lists === undefined && option !== "empty") {
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
  for (const { name, options, steps } of cases[list]) {
    test(`${list}: ${name}`, async () => {
      const clock = createClock(noon);
      const service = new Map<string, string>();
      const sent: string[] = [], told: string[] = [], batches: number[] = [];
      const keys = new Set<string>();

      /** Notes a request. Gives how many records or pieces of feedback it has. */
      async function note(request: Request, requestName: string): Promise<number> {
        sent.push(requestName);
        if (requestName === "submit") keys.add(request.headers.get("Idempotency-Key")!);
        if (requestName !== "batch" && requestName !== "feedback") return 0;
        const { records, feedback } = await request.json() as {
          records?: { idempotencyKey: string }[];
          feedback?: object[];
        };
        records?.forEach(({ idempotencyKey }) => keys.add(idempotencyKey));
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
        const answer = cases.answers[service.get(requestName) ?? "unreachable"];
        if (answer === undefined) throw new Error(`No answer ${service.get(requestName)}`);
        const count = await clock.follow(note(request, requestName));
        if (answer === null) throw new TypeError("fetch failed");
        if (answer === "silent") return await new Promise(() => {});
        const { status, headers = {}, text, each } = answer;
        const body = each === undefined ? answer.body : { results: Array(count).fill(each) };
        return textResponse(status, text ?? JSON.stringify(body), headers);
      }

      const client = createClientOn(clock.runtime, { apiKey: "pl_key", fetch, ...options });
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
        await clock.pass(step.wait ?? 0);
        const where = `step ${index + 1}`;
        if (step.gives !== undefined) assert.equal(pick(outcome, step.gives), step.gives, where);
        if (step.sent !== undefined) assert.equal(sent, step.sent, where);
        if (step.sentAtLeast !== undefined) assert.ok(sent.length >= step.sentAtLeast, where);
        if (step.told !== undefined) assert.equal(told, step.told, where);
        if (step.batches !== undefined) assert.equal(batches, step.batches, where);
        if (step.keys !== undefined) assert.is(keys.size, step.keys, where);
        sent.length = told.length = batches.length = 0;
      }

      function act({ ask, submit, close }: Step): Promise<unknown> | undefined {
        if (ask !== undefined) return client.prompt(deployId, ask === "with fallback" ? { fallback } : {});
        if (submit !== undefined) return client.submit(record);
        return close === undefined ? undefined : client.close({ timeout: close });
      }
    });
  }
}

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
  const { source, version } = outcome as Prompt;
  return source === undefined ? outcome : [source, version];
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
