// `console`: how long each page of the console takes over a file with a million records of one deployment, and what GETs keep
// while ten people click through them.
import type { Session } from "../../src/management/kernel/operation.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call, createDeployment, promoteDeployment, pushPrompt, updateWorkspace } from "../actions.ts";
import { adminToken, promptFile, toPrompt } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { makeHistory } from "./fill.ts";
import { callOf, load, pause, warmUp } from "./load.ts";
import type { Load } from "./load.ts";
import type { Options } from "./options.ts";
import { say, withService, withStore } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const days = 60;
const times = 20; // that each page is opened
const people = 10;
const thinkTime = 1_000; // ms between two clicks of a person
const rounds = 7;

/** ms that a page may take. Statistics read more. */
const limits = { page: 300, statistics: 1_000 };

type PageKind = { path: string; limit: number };

export async function consolePages(options: Options): Promise<Table[]> {
  const count = options.sizes.at(-1)!;
  const pages: Row[] = [], beside: Row[] = [];
  for (const runtime of options.runtimes) {
    await withStore("file", async (store) => {
      const [tenant] = await makeHistory("console", store.url, { count, days }, 1, changeCatalog) as [Tenant];
      await withService(runtime, store, async (stage) => {
        const Cookie = await signIn(stage.url);
        const found = await findPages(stage, tenant, Cookie);
        pages.push(...await timePages(runtime, stage, found, Cookie));
        beside.push(await measureBeside(runtime, stage, tenant, found, Cookie, options));
      }, { ADMIN_TOKEN: adminToken, LOG_LEVEL: "warn" });
    });
  }
  return [
    { title: `console: pages over ${count} records`, rows: pages },
    { title: `console: ${options.connections} connections beside ${people} people`, rows: beside },
  ];
}

/** Names the statuses, and promotes another version. */
async function changeCatalog(admin: Session, { workspaceId, promptId, deployId }: Tenant): Promise<void> {
  const statuses = [{ status: 1, name: "ok" }, { status: 4, name: "failed", isFailure: true }];
  await updateWorkspace(admin, workspaceId, { statuses });
  await createDeployment(admin, workspaceId, { name: "staging", promptId });
  await call(createToken, admin, { name: "Ada", role: "viewer" });
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
  await promoteDeployment(admin, deployId, { version: 2 });
}

async function signIn(url: string): Promise<string> {
  const response = await fetch(`${url}/console/sign-in`, {
    method: "POST",
    headers: { "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded" },
    body: String(new URLSearchParams({ token: adminToken })),
    redirect: "manual",
  });
  return response.headers.get("Set-Cookie")!.split(";")[0]!;
}

/** Opens a page below the console. Resolves with its text and the ms that it took. */
async function open({ url }: Stage, path: string, Cookie: string): Promise<{ text: string; ms: number }> {
  const start = performance.now();
  const response = await fetch(`${url}/console/${path}`, { headers: { Cookie } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`);
  return { text, ms: performance.now() - start };
}

/** A page of each kind by name. */
async function findPages(stage: Stage, tenant: Tenant, cookie: string): Promise<Record<string, PageKind>> {
  const { workspaceId, promptId, deployId, keyId } = tenant;
  const records = `records?deployment=${deployId}`;
  const [, record] = /records\/(diag_\w+)/.exec((await open(stage, `${workspaceId}/${records}`, cookie)).text)!;
  const [, token] = /tokens\/(\w+)/.exec((await open(stage, `${workspaceId}/tokens`, cookie)).text)!;
  const simple = {
    prompts: "prompts",
    "prompts by text": "prompts?q=greet",
    edit: `prompts/${promptId}/edit`,
    deployments: "deployments",
    deployment: `deployments/${deployId}`,
    deactivate: `deployments/${deployId}/deactivate`,
    records,
    "records of all deployments": "records",
    "failures of all deployments": "records?failures=yes",
    "records, oldest first": `${records}&order=oldest`,
    "records of a status": `${records}&status=failed`,
    "records of 30 days": `${records}&last=30d`,
    "records of a session": `${records}&session=order-77`,
    "records by a text that is in all": `${records}&text=parcel`,
    "records by a text that is in none": `${records}&text=no%20such%20text`,
    record: `records/${record}`,
    "record of a status": `records/${record}?status=failed`,
    sessions: "sessions",
    "sessions of 30 days": "sessions?last=30d",
    "sessions by a part of the id": "sessions?contains=77",
    session: "session?id=order-77",
    keys: "keys",
    key: `keys/${keyId}`,
    tokens: "tokens",
    token: `tokens/${token}`,
    prices: "prices",
    settings: "settings",
    audit: "audit",
  };
  const statistics = {
    overview: "",
    usage: "usage",
    prompt: `prompts/${promptId}`,
    compare: `prompts/${promptId}/compare?from=1&to=2`,
    promote: `deployments/${deployId}/promote?version=1`,
    "statistics of 30 days": `deployments/${deployId}/stats`,
    "statistics of all": `deployments/${deployId}/stats?last=all`,
  };
  const of = (pages: Record<string, string>, limit: number) =>
    Object.entries(pages).map(([name, path]) => [name, { path: `${workspaceId}/${path}`, limit }] as const);
  return Object.fromEntries([
    ["workspaces", { path: "workspaces", limit: limits.page }],
    ...of(simple, limits.page),
    ...of(statistics, limits.statistics),
  ]);
}

async function timePages(
  runtime: Runtime,
  stage: Stage,
  pages: Record<string, PageKind>,
  cookie: string,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, { path, limit }] of Object.entries(pages)) {
    const taken: number[] = [];
    let size = 0;
    for (let nth = 0; nth < times; nth++) {
      const { ms, text } = await open(stage, path, cookie);
      taken.push(ms);
      size = text.length;
    }
    const [first, ...others] = taken;
    const usual = median(others);
    const row = { runtime, page: name, "first ms": round(first!, 0), "least ms": round(Math.min(...taken), 0) };
    rows.push({
      ...row,
      "median ms": round(usual, 0),
      "p95 ms": round(others.sort((a, b) => a - b)[Math.floor(0.95 * others.length)]!, 0),
      "limit ms": limit,
      late: usual > limit ? "late" : "",
      "kB": round(size / 1_000, 1),
    });
    say(`console: ${JSON.stringify(rows.at(-1))}`);
  }
  return rows;
}

/** A load beside people who click, and the same without them before it, in turns: other work on the machine comes and goes. */
async function measureBeside(
  runtime: Runtime,
  stage: Stage,
  tenant: Tenant,
  pages: Record<string, PageKind>,
  cookie: string,
  options: Options,
): Promise<Row> {
  const calls = [callOf("GET")(tenant)];
  const paths = Object.values(pages).map(({ path }) => path);
  const taken: number[] = [], quiet: Load[] = [], beside: Load[] = [];
  await warmUp(stage.url, calls, options);
  for (let round = 0; round < rounds; round++) {
    quiet.push(await load(stage.url, calls, options));
    let isOver = false;
    const clicking = Array.from({ length: people }, async (_, person) => {
      await pause(thinkTime * person / people);
      for (let nth = 3 * person + round; !isOver; nth++) {
        taken.push((await open(stage, paths[nth % paths.length]!, cookie)).ms);
        await pause(thinkTime);
      }
    });
    await pause(thinkTime);
    beside.push(await load(stage.url, calls, options));
    isOver = true;
    await Promise.all(clicking);
  }
  const middle = (of: (load: Load) => number, loads: Load[]) => median(loads.map(of));
  const shares = beside.map(({ perSecond }, round) => ratio(perSecond, quiet[round]!.perSecond));
  const row = {
    runtime,
    "quiet/s": middle(({ perSecond }) => perSecond, quiet),
    "beside/s": middle(({ perSecond }) => perSecond, beside),
    "of quiet": median(shares),
    "each round": shares.join(", "),
    "p50 quiet": round(middle(({ p50 }) => p50, quiet), 1),
    "p50 beside": round(middle(({ p50 }) => p50, beside), 1),
    "p99 quiet": round(middle(({ p99 }) => p99, quiet), 1),
    "p99 beside": round(middle(({ p99 }) => p99, beside), 1),
    clicks: taken.length,
    "page, median ms": round(median(taken), 0),
    "slowest page, ms": round(Math.max(...taken), 0),
    failed: [...quiet, ...beside].reduce((sum, { failed }) => sum + failed, 0),
  };
  say(`console: ${JSON.stringify(row)}`);
  return row;
}

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
