// The answers of odd.json, which come from something between a client and the service: none of them costs a record or a prompt.
// The service's own refusals, and texts that come close, are told apart.
import { readFile } from "node:fs/promises";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClientOn } from "../../src/client/client.ts";
import type { Client } from "../../src/client/client.ts";
import { PromptLedgerError } from "../../src/client/errors.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import * as errors from "../../src/common/errors.ts";
import { statusOf } from "../../src/http/respond.ts";
import { goodBody, noon } from "../helpers.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";
import { createClock, names, textResponse } from "./stage.ts";
import type { Odd } from "./stage.ts";

const test = suite(`client and odd answers on ${currentRuntime}`);

type Body = { status: number; body: { error?: string }; code: string };

type Answer = { status: number; headers?: Record<string, string> | undefined; text: string };

const odd = JSON.parse(await readFile(pathOf("test/client/odd.json"), "utf8")) as Odd & {
  own: Body[];
  foreign: Body[];
};

const deployId = "support/assistant@production";
const fallback = { messages: [{ role: "system", content: "You answer customers of {{shop}}." }] };
const prompt = {
  id: "prompt_1",
  title: "Support assistant",
  description: "",
  messages: fallback.messages,
  deploy: { id: "dep_1", name: "production", currentVersion: 1, isActive: true },
  workspace: { id: "ws_1", name: "My team" },
  llmConfig: {},
};
const deployments = { dep_1: { reference: deployId, revision: 1, version: 1, isActive: true } };

/** A service, in whose place something else answers while `odd` is set. */
function createService() {
  const clock = createClock(noon);
  const stored = new Map<string, number>(); // how often, by key
  const told: string[] = [];
  const saved: string[] = [];

  function store(key: string): void {
    stored.set(key, (stored.get(key) ?? 0) + 1);
  }

  async function serve(request: Request): Promise<Response> {
    const name = names[`${request.method} ${new URL(request.url).pathname}`];
    if (name === "read") return Response.json(prompt);
    if (name === "look") return Response.json({ deployments });
    if (name === "submit") {
      store(JSON.parse(request.headers.get("Idempotency-Key")!));
      return Response.json({ id: "diag_1", status: "success", message: "" }, { status: 201 });
    }
    const { records } = await request.json() as { records: { idempotencyKey: string }[] };
    records.forEach(({ idempotencyKey }) => store(idempotencyKey));
    return Response.json({ results: records.map(() => ({ status: 201, id: "diag_1" })) });
  }

  const service = {
    clock,
    stored,
    told,
    saved,
    odd: undefined as Answer | undefined,
    connect(options: ClientOptions = {}): Client {
      const fetch = async (request: Request) => await clock.follow(answer(request, service.odd));
      const client = createClientOn(clock.runtime, { apiKey: "pl_key", fetch, watch: false, ...options });
      for (const event of ["error", "recover", "stale", "drop"] as const) {
        client.on(event, (about) => {
          told.push(event);
          if ("error" in about) assert.instance(about.error, PromptLedgerError);
        });
      }
      return client;
    },
  };

  const answer = async (request: Request, odd: Answer | undefined): Promise<Response> =>
    odd === undefined ? await serve(request) : textResponse(odd.status, odd.text, odd.headers);

  return service;
}

const outcomeOf = async (promise: Promise<unknown>): Promise<unknown> => await promise.catch((error) => error);

/** What an odd answer of 1.5 s does to a client that has a prompt and 120 records, and to one that has nothing. */
async function survive(answer: Answer): Promise<void> {
  const service = createService();
  const { clock, stored, told, saved } = service;
  const save = (text: string) => void saved.push(text);
  const snapshot = clock.followStore({ load: () => saved.at(-1), save });
  const client = service.connect({ maxAge: 1_000, snapshot });
  await client.prompt(deployId);
  await clock.pass(2_500);
  assert.is(saved.length, 1);

  service.odd = answer;
  for (let number = 0; number < 120; number++) {
    client.record({ deployId, ...goodBody, idempotencyKey: `key-${number}` });
  }
  const cold = service.connect({ snapshot: clock.followStore({ load: () => "", save }) });
  const asked = outcomeOf(cold.prompt(deployId));
  const submitted = outcomeOf(client.submit({ deployId, ...goodBody, idempotencyKey: "submitted" }));
  for (let step = 0; step < 3; step++) {
    await clock.pass(500);
    const { source, version } = await client.prompt(deployId);
    assert.equal([source, version], ["stale", 1]);
  }
  const withFallback = cold.prompt(deployId, { fallback });
  // A wait that is asked for may go on.
  service.odd = undefined;
  await clock.pass(1_500);
  const code = [408, 500, 502, 503, 504].includes(answer.status) ? "unavailable" : "unexpected_response";
  const error = await asked as PromptLedgerError;
  if (error.code !== undefined) assert.equal([error.code, error.retryable, error.status], [code, true, answer.status]);
  else assert.is((error as unknown as { source: string }).source, "server");
  assert.ok(["server", "cache", "fallback"].includes((await withFallback).source));

  await clock.pass(60_000);
  const refused = await submitted as Partial<PromptLedgerError> & { id?: string };
  if (refused.id === undefined) {
    assert.equal([refused.code, refused.retryable, refused.status], [code, true, answer.status]);
    assert.is(stored.has("submitted"), false);
  }
  stored.delete("submitted");
  const { sent, dropped, failed } = client.stats();
  assert.equal([sent, dropped, failed], [120, 0, 0]);
  assert.equal([stored.size, Math.max(...stored.values())], [120, 1]);
  assert.equal((await client.prompt(deployId)).version, 1);
  // The error of the queue, of looks and of reads is told once each, and so is its end.
  const count = (name: string) => told.filter((event) => event === name).length;
  assert.ok(count("error") >= 2 && count("error") <= 4, `${told}`);
  assert.is(count("drop"), 0);
  for (const text of saved) assert.match(text, '"dep_1"');
}

/** Whether to try a combination: one in sixteen unless tests run in full. */
const isChosen = (number: number) => isFull || number % 16 === 0;

const texts = Object.entries(odd.bodies), headers = Object.entries(odd.headers);

for (const [row, status] of odd.statuses.entries()) {
  test(`${status} with any body and headers loses no record and no prompt`, async () => {
    for (const [column, [bodyName, text]] of texts.entries()) {
      if (!isChosen(row + column)) continue;
      const [headerName, chosen] = headers[(row + column) % headers.length]!;
      try {
        await survive({ status, headers: chosen, text });
      } catch (error) {
        throw new Error(`${bodyName}, headers of ${headerName}: ${(error as Error).stack}`, { cause: error });
      }
    }
  });
}

for (const [column, [name, chosen]] of headers.entries()) {
  test(`headers of ${name} with any status lose no record and no prompt`, async () => {
    for (const [row, status] of odd.statuses.entries()) {
      if (isChosen(row + column)) await survive({ status, headers: chosen, text: odd.bodies["a gateway's error"]! });
    }
  });
}

/** What a client that has nothing makes of an answer. */
async function codeOf({ status, body }: Body): Promise<[code: string, retryable: boolean]> {
  const service = createService();
  service.odd = { status, text: JSON.stringify(body) };
  const asked = outcomeOf(service.connect({ retries: 0 }).prompt(deployId));
  await service.clock.settle();
  const { code, retryable } = await asked as PromptLedgerError;
  return [code, retryable];
}

test("the service's own refusals are believed", async () => {
  for (const refusal of odd.own) assert.equal(await codeOf(refusal), [refusal.code, false], JSON.stringify(refusal));
});

test("what comes close to a refusal of the service is not believed", async () => {
  for (const refusal of odd.foreign) {
    assert.equal(await codeOf(refusal), ["unexpected_response", true], JSON.stringify(refusal));
    await survive({ status: refusal.status, text: JSON.stringify(refusal.body) });
  }
});

test("every refusal of the service on a key, a deployment or a record is believed", async () => {
  const all = [
    errors.missingAuthorization(),
    errors.noApiKey(),
    errors.invalidApiKey(),
    errors.readForbidden(),
    errors.submitForbidden(),
    errors.deployNotFound(),
    errors.versionNotFound(),
    errors.keyReused(),
    errors.invalidIdempotencyKey(),
    errors.keyOfBatch(),
    errors.invalidDeployId(),
    errors.missingField("content"),
    errors.wrongField("content.input", "a string"),
    errors.bodyTooLarge(1),
    errors.wrongWhole("Request body", "nested at most 1002 levels deep"),
  ];
  for (const { kind, message } of all) {
    const [code, retryable] = await codeOf({ status: statusOf[kind], body: { error: message }, code: "" });
    assert.equal([retryable, code === "unexpected_response"], [false, false], message);
  }
});

test("an answer that is not the service's own names the url, and the text if it has one", async () => {
  const messageOf = async (text: string) => {
    const fetch = () => Promise.resolve(new Response(text, { status: 404 }));
    const url = "http://x.test/llm2";
    const client = createClientOn(createClock(noon).runtime, { url, apiKey: "pl_1", fetch, retries: 0 });
    return await client.prompt(deployId).catch(({ message }: Error) => message);
  };
  assert.is(await messageOf('{"error":"Not found"}'), "Unexpected response 404 from http://x.test/llm2: Not found");
  assert.is(await messageOf(""), "Unexpected response 404 from http://x.test/llm2: is it promptledger?");
});

test.run();
