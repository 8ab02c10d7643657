// A month of rollouts: each half day they are started, raised, stopped and completed, and versions promoted and rolled back, while apps
// read and submit, services are killed and replies are lost. What the apps saw and did is compared with what the services say.
import { createClientOn } from "../../src/client/client.ts";
import { monthOf } from "../../src/common/month.ts";
import { bucketOf, isInRollout } from "../../src/common/rollout.ts";
import type { Deployment } from "../../src/management/deployments/deployments.ts";
import { createClock } from "../client/stage.ts";
import { goodBody, promptFile } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { sleep } from "./fault.ts";
import { bearer } from "./rollout-services.ts";
import type { Services } from "./rollout-services.ts";

export const steps = 60; // of half a day
const step = 43_200_000; // ms
const exchanges = 3; // of each app and step
const apps = 6, users = 40, versions = 5;
const reference = "greeting@production";
const lastRequests = 20; // that the quota has room for in the last step of the first calendar month

/** What a deployment served from one time to another (ms of this process), at the least. `until` is Infinity for the last one. */
type State = { base: number; rollout: Deployment["rollout"]; from: number; until: number };

/** What an app was served, between two times. */
type Seen = { base?: number; rollout?: Share | null; from: number; until: number };

/** A rollout, as far as an app is told of it. */
type Share = { id: string; version: number; percent?: number };

/** What a record must have. */
export type Used = { version: number; rollout: string | undefined };

export type Month = {
  /** By the session of each record that was accepted. */
  used: Map<string, Used>;
  /** How often each action was taken. */
  actions: Map<string, number>;
  /** What was served and should not have been. */
  faults: string[];
  figures: { reads: number; refused: number; kills: number };
  /** The quota that was set for the first calendar month once most of it had passed. */
  limit: number;
};

type Random = () => number;

/** Lives a month that begins at a time (Unix ms). */
export async function liveMonth(
  services: Services,
  tenant: Tenant,
  start: number,
  random: Random,
): Promise<Month> {
  const month: Month = {
    used: new Map(),
    actions: new Map(),
    faults: [],
    figures: { reads: 0, refused: 0, kills: 0 },
    limit: 0,
  };
  const { figures, faults, used } = month;
  const between = (from: number, to: number) => Math.floor(from + random() * (to - from));
  const clock = createClock(start);
  for (let version = 2; version <= versions; version++) {
    const content = { ...promptFile, description: `Version ${version}` };
    await services.manage("POST", `/prompts/${tenant.promptId}/versions`, content);
  }
  const states: State[] = [{ base: 1, rollout: null, from: 0, until: Infinity }];
  const seen: Seen[] = [];
  let sessions = 0;
  const deployment = `/deployments/${tenant.deployId}`;
  let revision = (JSON.parse((await services.manage("GET", deployment)).text) as Deployment).revision;

  /** Takes an action once, however many of its replies are lost: the revision tells whether it has been taken. */
  async function act(name: string, path: string, body: object): Promise<void> {
    const from = performance.now();
    const answer = await services.manage("POST", `${deployment}/${path}`, body, { "If-Match": `"${revision}"` });
    // There may be nothing to go back to.
    if (answer.status === 409 && path === "rollback") return;
    if (answer.status !== 200 && answer.status !== 412) {
      faults.push(`${name} got ${answer.status}: ${answer.text}`);
      return;
    }
    const { text } = answer.status === 412 ? await services.manage("GET", deployment) : answer;
    const { currentVersion: base, rollout, revision: now } = JSON.parse(text) as Deployment;
    if (now !== revision + 1) faults.push(`${name} led from revision ${revision} to ${now}`);
    revision = now;
    states.at(-1)!.until = performance.now();
    states.push({ base, rollout, from, until: Infinity });
    month.actions.set(name, (month.actions.get(name) ?? 0) + 1);
  }

  async function actAtRandom(): Promise<void> {
    const { base, rollout } = states.at(-1)!;
    const others = Array.from({ length: versions }, (_, nth) => nth + 1).filter((version) => version !== base);
    const other = others[between(0, others.length)]!, chance = random();
    if (chance < 0.1) await act("promotion of any version", "promote", { version: other });
    else if (chance < 0.2 && states.length > 3) await act("rollback", "rollback", {});
    else if (rollout === null) await act("start", "rollout", { version: other, percent: between(1, 1000) / 10 });
    else if (chance < 0.45) await act("completion", "promote", { version: rollout.version });
    else if (chance < 0.6) await act("stop", "rollout/stop", {});
    else if (rollout.percent < 100) {
      await act("raise", "rollout", { percent: between(rollout.percent * 10 + 1, 1001) / 10 });
    }
  }

  const submit = async (version: number, rollout: string | undefined): Promise<void> => {
    const sessionId = `raw-${sessions++}`;
    const answer = await services.send(`/v1/diagnosis?deployId=${reference}`, {
      method: "POST",
      headers: { ...bearer(tenant), "Content-Type": "application/json", "Idempotency-Key": sessionId },
      body: JSON.stringify({ ...goodBody, sessionId, promptVersion: version, ...rollout !== undefined && { rollout } }),
    });
    if (answer.status === 201) used.set(sessionId, { version, rollout });
    else if (answer.status === 429) figures.refused++;
    else faults.push(`a submit got ${answer.status}: ${answer.text}`);
  };

  /** Reads in one of the three ways, and submits what was used. */
  async function exchange(): Promise<void> {
    const who = `user-${between(0, users)}`, way = between(0, 3);
    const from = performance.now();
    const answer = await services.send(`/v1/prompts?deployId=${reference}${way === 1 ? `&key=${who}` : ""}`, {
      headers: { ...bearer(tenant), ...way === 0 && { "Accept-Rollout": "1" } },
    });
    if (answer.status === 429) return void figures.refused++;
    if (answer.status !== 200) return void faults.push(`a read got ${answer.status}: ${answer.text}`);
    figures.reads++;
    const times = { from, until: performance.now() };
    const { deploy: { id, currentVersion }, rollout } = JSON.parse(answer.text);
    if (way === 0) {
      const { salt, percent, version } = rollout ?? {};
      seen.push({ base: currentVersion, rollout: rollout === undefined ? null : rollout, ...times });
      const isCandidate = rollout !== undefined &&
        isInRollout(await bucketOf(id, salt, who), Math.round(percent * 10));
      await submit(isCandidate ? version : currentVersion, rollout?.id);
    } else if (way === 1 && rollout !== undefined) {
      const { isCandidate, id } = rollout;
      seen.push({ ...isCandidate ? { rollout: { id, version: currentVersion } } : { base: currentVersion }, ...times });
      await submit(currentVersion, id);
    } else {
      seen.push({ base: currentVersion, ...times });
      await submit(currentVersion, undefined);
    }
  }

  /** Leaves room for a few more requests in the month. */
  async function setLimit(): Promise<number> {
    const path = `/workspaces/${tenant.workspaceId}`;
    const { used } = JSON.parse((await services.manage("GET", `${path}/usage/${monthOf(clock.now)}`)).text);
    const monthlyLimit = used + lastRequests;
    await services.manage("PATCH", path, { monthlyLimit });
    return monthlyLimit;
  }

  const client = createClientOn(clock.runtime, {
    apiKey: tenant.key,
    fetch: async (request: Request) => {
      const { pathname, search } = new URL(request.url);
      const body = request.method === "GET" ? undefined : await request.text();
      const { method, headers } = request;
      return await clock.followBody(
        await clock.follow(services.fetch(pathname + search, { method, headers, ...body !== undefined && { body } })),
      );
    },
  });
  client.on("error", () => {});

  /** Prompts of the client for some users, and records of them. They may be of any state since a time. */
  async function useClient(since: number): Promise<void> {
    const asked = Array.from({ length: 5 }, () => client.prompt(reference, { key: `user-${between(0, users)}` }));
    await clock.pass(5_000);
    for (const result of await Promise.allSettled(asked)) {
      if (result.status === "rejected") continue;
      const { value: prompt } = result, { version, rollout } = prompt;
      const of = states.filter(({ until }) => until >= since);
      const isServed = of.some((state) =>
        state.rollout?.id === rollout && [state.base, state.rollout?.version].includes(version)
      );
      if (!isServed) faults.push(`the client gave version ${version} of ${rollout}, which was not served`);
      const sessionId = `client-${sessions++}`;
      used.set(sessionId, { version, rollout });
      prompt.call({ sessionId }).done({ status: 1, output: "Hello" });
    }
    await clock.pass(5_000);
  }

  const run = async (count: number, act: () => Promise<void>) => {
    for (let index = 0; index < count; index++) await act();
  };
  let since = 0, refusedIn = -Infinity;
  for (let nth = 0; nth < steps; nth++) {
    const before = since, refusedBefore = figures.refused;
    since = performance.now();
    clock.now = Math.max(clock.now, start + nth * step);
    services.setDate(clock.now);
    if (monthOf(clock.now) < monthOf(clock.now + step)) month.limit = await setLimit();
    await Promise.all([
      ...Array.from({ length: apps }, () => run(exchanges, exchange)),
      run(between(0, 3), async () => {
        await sleep(between(1, 40));
        await actAtRandom();
      }),
      run(2, async () => {
        await sleep(between(1, 60));
        await services.loseReplies(between(0, 3), between(5, 25));
      }),
      run(nth % 10 === 1 ? 1 : 0, async () => {
        await sleep(between(1, 60));
        await services.kill(between(0, 3));
        figures.kills++;
      }),
      useClient(before),
    ]);
    if (figures.refused > refusedBefore) refusedIn = nth;
    // What nothing disturbs reaches the client within a failed look and another one, unless its read is refused.
    await clock.pass(2 * 16_500);
    await useClient(nth > refusedIn + 1 ? performance.now() : before);
  }
  await clock.pass(600_000);
  const closing = client.close();
  await clock.pass(60_000);
  const { failed, dropped } = await closing;
  if (failed + dropped > 0) faults.push(`the client lost ${failed + dropped} records`);
  for (const { from, until, ...served } of seen) {
    const possible = states.filter((state) => state.from <= until && state.until >= from);
    if (possible.some((state) => isOf(state, served))) continue;
    // A repeated attempt serves the version that the first one logged. If the rollout ended between them, it is served alone.
    const isBaseOfEnded = possible.length > 1 &&
      possible.some(({ base, rollout }) => base === served.base && rollout !== null);
    if (served.rollout === null && isBaseOfEnded) continue;
    faults.push(`served ${JSON.stringify(served)}, of ${JSON.stringify(possible)}`);
  }
  return month;
}

/** Whether an app could be served this in a state. */
function isOf(
  { base, rollout }: State,
  { base: version = base, rollout: share }: Pick<Seen, "base" | "rollout">,
): boolean {
  if (version !== base) return false;
  if (share === undefined || share === null) return share === undefined || rollout === null;
  const { id, percent = rollout?.percent } = share;
  return rollout?.id === id && rollout.version === share.version && rollout.percent === percent;
}
