// The service mounted in other servers: every host for the runtime that runs the tests goes through the same checks. Most of
// their time is waiting, so that several hosts are at it at once.
// Runs on every runtime.
import process from "node:process";
import { isFull, suite } from "../suite.ts";
import { findSqld } from "../conformance/sqld.ts";
import { currentRuntime } from "../runtimes.ts";
import { checksAfterParser } from "./body-checks.ts";
import { checks, checksOfRawBody, settle } from "./checks.ts";
import { hosts, hostsAfterParser, hostsWithRawBody } from "./hosts.ts";
import type { Host } from "./hosts.ts";
import { createStages } from "./stage.ts";
import type { Check, Stage } from "./stage.ts";

const sqld = await findSqld();
const stages = await createStages("binary" in sqld ? sqld.binary : undefined);

const hostsAtOnce = 5;

type Plan = { host: Host; checks: Check[]; outcomes: Promise<void>[] };

/** Puts a host through its checks, on two processes as long as they pass: the one after a failure gets a new one. */
async function runChecks({ host, checks }: Plan, settled: ((outcome: Promise<void>) => void)[]): Promise<void> {
  const idle = new Map<boolean, Stage>(); // by whether they are hasty

  async function runCheck({ run, isHasty = false, closes }: Check, later: Check[]): Promise<void> {
    const current = idle.get(isHasty) ?? await stages.open(host, isHasty);
    idle.delete(isHasty);
    try {
      await run(current);
      if (!closes) await settle(current);
      // What does not balance stays so. To verify all records after each check took longer than the checks.
      if (!closes && !later.some((each) => (each.isHasty ?? false) === isHasty)) await current.countUsed();
    } catch (error) {
      const end = await current.stop();
      throw end === undefined ? error : new Error(end, { cause: error });
    }
    if (closes) await current.stop();
    else idle.set(isHasty, current);
  }

  for (const [index, check] of checks.entries()) {
    const outcome = runCheck(check, checks.slice(index + 1));
    settled[index]!(outcome);
    await outcome.catch(() => {});
  }
  for (const stage of idle.values()) await stage.stop();
}

/** What is to be done, and what will have come of each check. */
function planOf(host: Host, all: Check[]): { plan: Plan; start(): Promise<void> } {
  const checks = all.filter(({ closes, counts }) => !(host.isWorker && (closes || counts)));
  const settled: ((outcome: Promise<void>) => void)[] = [];
  const outcomes = checks.map(() => new Promise<void>((resolve) => settled.push(resolve)));
  // Each is looked at later, by its test.
  for (const outcome of outcomes) outcome.catch(() => {});
  const plan = { host, checks, outcomes };
  return { plan, start: () => runChecks(plan, settled) };
}

// `HOSTS=express,koa` picks hosts by their files.
const picked = process.env.HOSTS?.split(",");
const few = ["express", "express-after-parser", "bun-serve", "elysia", "deno-serve"];
const isWanted = ({ file, runtimes }: Host) =>
  runtimes.includes(currentRuntime) && (picked?.includes(file) ?? (isFull || few.includes(file)));
const canRun = ({ name, isWorker }: Host) => {
  if (isWorker && "missing" in sqld) console.log(`skipped: ${name}: ${sqld.missing}`);
  return !isWorker || "binary" in sqld;
};

const planned = [
  ...hosts.filter(isWanted).filter(canRun).map((host) => planOf(host, checks)),
  ...hostsWithRawBody.filter(isWanted).map((host) => planOf(host, checksOfRawBody)),
  ...hostsAfterParser.filter(isWanted).map((host) => planOf(host, checksAfterParser)),
];

let isStarted = false;
function startAll(): void {
  if (isStarted) return;
  isStarted = true;
  const rest = [...planned];
  for (let worker = 0; worker < hostsAtOnce; worker++) {
    void (async () => {
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) await next.start();
    })();
  }
}

for (const { plan: { host, checks, outcomes } } of planned) {
  const test = suite(`${host.name} on ${currentRuntime}`);
  test.before(startAll);
  for (const [index, { name }] of checks.entries()) test(name, () => outcomes[index]!);
  test.run();
}

const last = suite("hosts");
last.after(() => stages.remove());
last("every runtime has hosts", () => {});
last.run();
