// Writes the history of the demo: a shop that has worked with its prompts for three weeks.
import type { DeploymentId, KeyId, PromptId, WorkspaceId } from "../../common/ids.ts";
import type { Database } from "../../database/database.ts";
import { serveDatabase } from "../../service/service.ts";
import { createApiKey } from "../../management/access/api-keys.ts";
import {
  promoteDeployment,
  protectDeployment,
  rollBackDeployment,
} from "../../management/deployments/deployment-changes.ts";
import { createDeployment } from "../../management/deployments/deployments.ts";
import { perform } from "../../management/kernel/operation.ts";
import type { Operation } from "../../management/kernel/operation.ts";
import { setPrice } from "../../management/prompts/prices.ts";
import { setRollout } from "../../management/deployments/rollout-operations.ts";
import { createToken } from "../../management/access/tokens.ts";
import { createPrompt, pushPrompt } from "../../management/prompts/versions.ts";
import { createWorkspace } from "../../management/kernel/workspaces.ts";
import { answers, failures, prices, prompts, questions, statuses } from "./demo-texts.ts";

/** Printed by the demo: ids and secrets of one of everything. */
export type Demo = {
  workspaceId: WorkspaceId;
  deployId: DeploymentId;
  key: string;
  keyId: KeyId;
  promptId: PromptId;
  token: string;
};

const minute = 60_000; // ms
const day = 1_440 * minute;
const days = 21;
/** Number of sessions on a day. The last days are those of a sale, with a rollout in progress. */
const sessionsOn = (passed: number) => passed < 18 ? 9 : 27;

const silent = { debug() {}, info() {}, warn() {}, error() {} };

type Served = { deploy: { currentVersion: number }; llmConfig: { model: string }; rollout?: { id: string } };

/** Pseudorandom numbers from 0 to 1. The sequence is fixed by the seed, which makes all demos alike. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 8) / 2 ** 24;
  };
}

/** Writes the history into an empty database. `now` is its end, in Unix ms. */
export async function writeHistory(database: Database, now: number): Promise<Demo> {
  let at = now - days * day;
  const clock = () => at;
  const call = <Input extends object, Output>(operation: Operation<Input, Output>, actor: string, input: Input) => {
    at += minute;
    return perform(operation, { database, clock, caller: { source: "command line", actor, role: "owner" } }, {
      value: input,
    });
  };
  const service = serveDatabase(database, { clock, log: silent });
  const random = createRandom(7);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;

  const { id: workspaceId } = await call(createWorkspace, "ada", {
    name: "Lamp & Shoe",
    monthlyLimit: 2_000,
    statuses,
  });
  for (const price of prices) await call(setPrice, "ada", price);
  const { key, id: keyId } = await call(createApiKey, "ada", { workspaceId, name: "Shop backend" });
  const { key: nightly } = await call(createApiKey, "ada", { workspaceId, name: "Nightly jobs", submitOnly: false });
  const { token } = await call(createToken, "ada", { name: "Ada", role: "owner" });
  await call(createToken, "ada", { name: "Grace", role: "editor", workspaceId });

  const deploy = (name: string, promptId: PromptId, note: string) =>
    call(createDeployment, "ada", { workspaceId, name, promptId, note });
  const create = (name: string, content: (typeof prompts.summary)[number]) =>
    call(createPrompt, "grace", { workspaceId, name, ...content });
  const { id: promptId } = await create("support/assistant", prompts.assistant[0]!);
  const { id: staging } = await deploy("staging", promptId, "To try things out");
  const { id: deployId } = await deploy("production", promptId, "The shop goes live");
  const { id: summaryId } = await create("support/summary", prompts.summary[0]!);
  const { id: summary } = await deploy("production", summaryId, "");
  const { id: followUpId } = await create("sales/follow-up", prompts.followUp[0]!);
  await deploy("staging", followUpId, "Waits for the campaign");
  await call(protectDeployment, "ada", { id: deployId, note: "Only publishers change what customers see" });

  /** Events of the prompts, by day. */
  const events: Record<number, () => Promise<unknown>> = {
    6: () => call(pushPrompt, "grace", { id: promptId, ...prompts.assistant[1]! }),
    7: () => call(promoteDeployment, "grace", { id: staging, version: 2 }),
    9: () => call(promoteDeployment, "ada", { id: deployId, version: 2, note: "Looks good on staging" }),
    12: () => call(rollBackDeployment, "ada", { id: deployId, note: "It promises refunds that nobody approved" }),
    14: () => call(pushPrompt, "grace", { id: promptId, ...prompts.assistant[2]! }),
    15: () => call(promoteDeployment, "grace", { id: staging, version: 3 }),
    17: () => call(promoteDeployment, "ada", { id: deployId, from: "staging", note: "Fewer failures on staging" }),
    18: async () => {
      await call(pushPrompt, "grace", { id: promptId, ...prompts.assistant[3]! });
      const guard = "failures=+5%,p95=+20%", note = "Is the smaller model enough?";
      await call(setRollout, "ada", { id: deployId, version: 4, percent: 25, guard, note });
    },
    20: () => call(setRollout, "ada", { id: deployId, percent: 50, note: "No complaints so far" }),
  };

  async function send(id: DeploymentId, secret: string, body?: object, key = ""): Promise<string> {
    const url = `http://demo/v1/${body === undefined ? "prompts" : "diagnosis"}?deployId=${id}${key}`;
    const init = { headers: { Authorization: `Bearer ${secret}` } };
    const response = await service.fetch(
      new Request(url, body === undefined ? init : { ...init, method: "POST", body: JSON.stringify(body) }),
    );
    if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
    return await response.text();
  }

  /** Asks one question of a customer in a session, and records its outcome. */
  async function ask(id: DeploymentId, sessionId: string, parent: string | undefined): Promise<string> {
    const { deploy, llmConfig: { model }, rollout }: Served = JSON.parse(
      await send(id, key, undefined, `&key=${sessionId}`),
    );
    const version = deploy.currentVersion;
    const index = Math.floor(random() * questions.length);
    const hasFailed = random() < [0.05, 0.16, 0.02, 0.03][version - 1]!;
    const latency = Math.round([600, 600, 900, 550][version - 1]! * (0.6 + random() * random() * 4));
    const spanId = Math.floor(random() * 2 ** 32).toString(16).padStart(8, "0");
    at += latency;
    await send(id, key, {
      sessionId,
      status: hasFailed ? 0 : 1,
      content: {
        input: JSON.stringify([{ role: "user", content: questions[index] }]),
        output: hasFailed ? pick(failures) : answers[index],
      },
      ...{ latency, startAt: at - latency, endAt: at, promptVersion: version, rollout: rollout?.id, model },
      additional_properties: {
        ...{ span_id: spanId, ...(parent === undefined ? {} : { parent_id: parent }) },
        usage: { input_tokens: 60 + Math.floor(random() * 240), output_tokens: 12 + Math.floor(random() * 60) },
      },
    });
    return spanId;
  }

  let sessions = 0;
  for (let passed = 0; passed < days; passed++) {
    const start = now - (days - passed) * day;
    at = start + day / 3;
    await events[passed]?.();
    for (let nth = 0; nth < sessionsOn(passed); nth++) {
      const opened = start + Math.floor(day * (0.35 + 0.6 * (nth + random()) / sessionsOn(passed)));
      at = Math.max(at, Math.min(opened, now - 600_000));
      const sessionId = `order-${4000 + sessions++}`;
      const id = nth % 4 === 3 ? staging : deployId;
      let parent: string | undefined;
      for (let turn = 0; turn < 1 + Math.floor(random() * 3); turn++) {
        at += 20_000 + Math.floor(random() * 60_000);
        const spanId = await ask(id, sessionId, parent);
        parent ??= spanId;
      }
    }
    // The summaries are written at night.
    at = Math.max(at, Math.min(start + day - 1_000, now - 300_000));
    await send(summary, nightly, {
      sessionId: `night-${passed + 1}`,
      status: 1,
      content: { input: questions.slice(0, 3).join("\n"), output: "- late parcel\n- wrong size\n- refund" },
      latency: 1_400 + Math.floor(random() * 900),
      additional_properties: { usage: { input_tokens: 900, output_tokens: 44 } },
    });
  }
  return { workspaceId, deployId, key, keyId, promptId, token };
}
