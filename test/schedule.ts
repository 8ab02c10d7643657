// Runs test files of all runtimes in a few processes. Each process takes one file after the other. A file that crashes or hangs
// ends its process, and the next file gets a new one.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { availableParallelism } from "node:os";
import process from "node:process";
import { pathOf } from "./runtimes.ts";
import type { Runtime } from "./runtimes.ts";

/** What a file gave. `failed` has the names of its tests that failed. */
export type FileResult = {
  file: string;
  passed: number;
  failed: string[];
  skipped: number;
  seconds: number;
};

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

/** `output` is what it has printed. `crash` says how it ended, unless it came to its end. */
export type JobResult = Omit<FileResult, "file"> & { job: Job; output: string; crash?: string };

/** A worker prints its results after this. */
export const resultMark = "\x1eresult of a file: ";

/** The command of a process that takes files of tests. */
export const workerCommand = (runtime: Runtime): string[] => [...workers[runtime], "test/run.ts", "--worker"];

const workers: Record<Runtime, string[]> = {
  Node: ["node", "--import", "tsx"],
  Bun: ["bun"],
  Deno: ["deno", "run", "--quiet", "--allow-all"],
};

/** Tests wait for a part of their time. */
export const defaultSlots = availableParallelism() + 1;

const patience = Number(process.env.CHECK_PATIENCE ?? 240); // seconds without output after which a job is ended

const runBegan = String(Date.now());
const folders = [pathOf("node_modules/.bin"), process.env.PATH];
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

function start([program, ...args]: string[], env: Record<string, string> = {}): ChildProcess {
  const path = folders.join(":");
  const settings = { ...process.env, PATH: path, NO_COLOR: "1", IN_TESTS: "1", TEST_RUN_BEGAN: runBegan, ...env };
  const child = spawn(program!, args, { cwd: pathOf("."), env: settings, detached: true, stdio: "pipe" });
  if (child.pid !== undefined) groups.add(child.pid);
  return child;
}

type Worker = { run(job: Job): Promise<JobResult>; isOver(): boolean; end(): void };

/** A process that runs jobs with the same command, one at a time. */
function startWorker(job: Job): Worker {
  const child = start(job.command, job.env);
  let output = "", ended: string | undefined, wake = () => {};
  const end = (how: string) => {
    ended ??= how;
    if (child.pid !== undefined) killGroup(child.pid);
    wake();
  };
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      wake();
    });
  }
  child.stdin!.on("error", () => {});
  child.once("error", (error) => end(error.message));
  child.once("close", (code, signal) => end(signal === null ? `exited with ${code}` : `ended by ${signal}`));

  async function run(job: Job): Promise<JobResult> {
    const began = performance.now();
    output = "";
    const { file } = job;
    if (file === undefined) child.stdin!.end();
    else child.stdin!.write(`${file}\n`);
    for (;;) {
      const before = output.length;
      const timer = setTimeout(() => {
        if (output.length === before) end(`printed nothing for ${patience} s`);
      }, patience * 1000);
      await new Promise<void>((resolve) => wake = resolve);
      clearTimeout(timer);
      const seconds = Math.round(performance.now() - began) / 1000;
      const [printed, result] = output.split(resultMark);
      if (file !== undefined && result?.endsWith("\n")) {
        return { job, output: printed!, ...JSON.parse(result) as FileResult };
      }
      if (ended === undefined) continue;
      const isGood = file === undefined && ended === "exited with 0";
      const counts = { passed: Number(isGood), failed: isGood ? [] : [job.on], skipped: 0 };
      if (file === undefined) return { job, output, seconds, ...counts };
      return { job, output, seconds, ...counts, failed: [ended], crash: ended };
    }
  }

  return { run, isOver: () => ended !== undefined, end: () => end("ended") };
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
  const idle = new Map<string, Worker[]>(); // by command

  async function runJob(job: Job): Promise<void> {
    onStart?.(job);
    const key = JSON.stringify([job.command, job.env]);
    const worker = idle.get(key)?.pop() ?? startWorker(job);
    const result = await worker.run(job);
    if (job.file !== undefined && !worker.isOver()) {
      if (result.passed + result.failed.length + result.skipped === 0) result.failed.push("it has no tests");
      // What a failed test has left behind must not fail others.
      if (result.failed.length > 0) worker.end();
      else idle.set(key, [...idle.get(key) ?? [], worker]);
    }
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
  for (const worker of [...idle.values()].flat()) worker.end();
  return results;
}
