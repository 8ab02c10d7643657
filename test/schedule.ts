// Runs test files of all runtimes in a few processes. Each process takes one file after the other. A file that crashes or hangs
// ends its process, and the next file gets a new one.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import process from "node:process";
import { pathOf } from "./runtimes.ts";
import type { Runtime } from "./runtimes.ts";

/** What a file gave. `failed` has the names of its tests that failed. */
export type FileResult = { passed: number; failed: string[]; skipped: number; seconds: number };

/** A file on a runtime, or a command. */
export type Job = {
  /** `Node`, `Node 24`, or the name of the command. */
  on: string;
  runtime?: Runtime;
  file?: string;
  command: string[];
  /** How long it takes on an idle machine, in seconds. */
  seconds: number;
  isAlone?: boolean;
  env?: Record<string, string>;
};

/** `output` is the printed text. With `crash`, the reason why the whole job failed, `failed` has only that. */
export type JobResult = FileResult & { job: Job; output: string; crash?: string };

/** A worker prints its results after this. */
export const resultMark = "\x1eresult of a file: ";

/** Tests wait for a part of their time. */
export const defaultSlots = availableParallelism() + 1;

const patience = Number(process.env.CHECK_PATIENCE ?? 240); // seconds without output after which a job is ended

const settings = {
  ...process.env,
  PATH: `${pathOf("node_modules/.bin")}:${process.env.PATH}`,
  NO_COLOR: "1",
  IN_TESTS: "1",
  TEST_RUN_BEGAN: String(Date.now()),
};
const groups = new Set<number>(); // the process groups that run
process.on("exit", endAll);

/** Ends all that runs. */
export function endAll(): void {
  groups.forEach(killGroup);
}

function killGroup(group: number): void {
  groups.delete(group);
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // Nothing is left.
  }
}

type Worker = { run(job: Job): Promise<JobResult>; isOver(): boolean; end(reason: string): void };

/** Starts a process that runs jobs with the same command, one at a time. */
function startWorker({ command: [program, ...args], env }: Job): Worker {
  const child = spawn(program!, args, {
    cwd: pathOf("."),
    env: { ...settings, ...env },
    detached: true,
    stdio: "pipe",
  });
  if (child.pid !== undefined) groups.add(child.pid);
  let output = "", ended: string | undefined, wake = () => {};

  function end(reason: string): void {
    ended ??= reason;
    if (child.pid !== undefined) killGroup(child.pid);
    wake();
  }

  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      wake();
    });
  }
  child.stdin.on("error", () => {});
  child.once("error", (error) => end(error.message));
  child.once("close", (code, signal) => end(signal === null ? `exited with ${code}` : `ended by ${signal}`));

  async function run(job: Job): Promise<JobResult> {
    const began = performance.now();
    output = "";
    if (job.file === undefined) child.stdin.end();
    else child.stdin.write(`${job.file}\n`);
    const timer = setTimeout(() => end(`printed nothing for ${patience} s`), patience * 1000);
    for (;;) {
      const [text, result] = output.split(resultMark);
      if (result?.endsWith("\n")) {
        clearTimeout(timer);
        return { job, output: text!, ...JSON.parse(result) as FileResult };
      }
      if (ended !== undefined) break;
      await new Promise<void>((resolve) => wake = resolve);
      timer.refresh();
    }
    clearTimeout(timer);
    const result = { job, output, skipped: 0, seconds: Math.round(performance.now() - began) / 1000 };
    if (job.file === undefined && ended === "exited with 0") return { ...result, passed: 1, failed: [] };
    return { ...result, passed: 0, failed: [ended], crash: ended };
  }

  return { run, isOver: () => ended !== undefined, end };
}

export type ScheduleOptions = {
  /** How many jobs run at a time. */
  slots: number;
  onStart?(job: Job): void;
  onEnd?(result: JobResult): void;
};

/** Runs jobs in the given order, and those that must be alone after all others. */
export async function runJobs(jobs: Job[], { slots, onStart, onEnd }: ScheduleOptions): Promise<JobResult[]> {
  // Tests of the runner have a folder of their own.
  if (process.env.TEST_FOLDER === undefined && process.env.IN_TESTS !== undefined) {
    throw new Error("The tests must not start themselves");
  }
  const results: JobResult[] = [];
  const idle: { key: string; worker: Worker }[] = [];

  async function runJob(job: Job): Promise<void> {
    onStart?.(job);
    const key = JSON.stringify([job.command, job.env]);
    const index = idle.findIndex((each) => each.key === key);
    const worker = index === -1 ? startWorker(job) : idle.splice(index, 1)[0]!.worker;
    let result = await worker.run(job);
    if (result.passed + result.failed.length + result.skipped === 0) {
      result = { ...result, failed: ["it has no tests"], crash: "it has no tests" };
    }
    // What a failed test has left behind must not fail others.
    if (result.failed.length > 0) worker.end("failed");
    else if (!worker.isOver()) idle.push({ key, worker });
    results.push(result);
    onEnd?.(result);
  }

  async function runAll(jobs: Job[], slots: number): Promise<void> {
    const waiting = jobs.values();
    await Promise.all(Array.from({ length: slots }, async () => {
      for (const job of waiting) await runJob(job);
    }));
  }

  await runAll(jobs.filter(({ isAlone }) => !isAlone), slots);
  await runAll(jobs.filter(({ isAlone }) => isAlone), 1);
  for (const { worker } of idle) worker.end("done");
  return results;
}
