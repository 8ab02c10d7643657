// Processes under test: the service on a runtime, and a libSQL server. All listen on loopback, on ports of their own.
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { commandOf, pathOf } from "../runtimes.ts";
import type { Runtime } from "../runtimes.ts";

export type Running = {
  url: string;
  pid: number;
  /** Everything that it has printed so far, to stdout and stderr. */
  output(): string;
  /** Sends a signal, and resolves with the exit code (or the signal's name) once it has ended. */
  stop(signal?: Signal): Promise<number | string>;
};

type Signal = "SIGTERM" | "SIGKILL" | "SIGINT" | "SIGHUP";

const startTimeoutMs = 120_000; // it only ends what hangs

/** The running children. They end with this process. */
const children = new Set<ChildProcess>();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));

/** Makes an empty folder, and a function that removes it. */
export async function createFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "promptledger-test-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Polls until a condition holds, by default for as long as a start may take. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = startTimeoutMs): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!await holds()) {
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * Reads each file of a folder, and returns the results by name. Skips files that disappear: libsql leaves a closed connection
 * to the garbage collector, and SQLite removes the log of a database with its last connection.
 */
export async function readFiles<T>(path: string, read: (file: string) => Promise<T>): Promise<Map<string, T>> {
  const found = new Map<string, T>();
  for (const name of (await readdir(path)).sort()) {
    try {
      found.set(name, await read(`${path}/${name}`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return found;
}

/** Starts the service, and resolves once it listens. `prefix` is a command that runs the one after it. */
export async function startService(
  runtime: Runtime,
  settings: Record<string, string>,
  prefix: string[] = [],
): Promise<Running> {
  const child = launch([...prefix, ...commandOf[runtime]("src/cli.ts"), "serve"], { PORT: "0", ...settings });
  return { ...child, url: await child.seen(/Listening.*?(http:\/\/[\d.]+:\d+)/) };
}

/**
 * Starts a file of the repository, and resolves with what the pattern captures once it is printed. The log may go to a file,
 * which takes no time to read.
 */
export async function startFile(
  runtime: Runtime,
  file: string,
  settings: Record<string, string>,
  pattern: RegExp,
  args: string[] = [],
  logFile?: string,
) {
  const child = launch([...commandOf[runtime](file), ...args], settings, "", logFile);
  return { ...child, seen: await child.seen(pattern), until: child.seen };
}

/** Starts a program in a folder, by default this repository's, and resolves with what the pattern captures within `timeoutMs`. */
export async function startProgram(
  command: string[],
  settings: Record<string, string>,
  pattern: RegExp,
  cwd = pathOf("."),
  timeoutMs?: number,
) {
  const child = launch(command, settings, "", undefined, cwd);
  return { ...child, seen: await child.seen(pattern, timeoutMs) };
}

/** The same with a script of package.json. */
export const startScript = (script: string, settings: Record<string, string>, pattern: RegExp) =>
  startProgram(["npm", "run", "-s", script], settings, pattern);

/** Finds util-linux's `script`, which runs a command in a terminal of its own, or says why there is none. */
export async function findTerminal(): Promise<"found" | { missing: string }> {
  const { stdout } = await promisify(execFile)("script", ["--version"]).catch(() => ({ stdout: "" }));
  return stdout.includes("util-linux") ? "found" : { missing: "util-linux's script is not installed" };
}

/** Starts a shell command in a terminal of its own, and resolves with what the pattern captures. */
export async function startInTerminal(command: string, settings: Record<string, string>, pattern: RegExp) {
  const child = launch(["script", "--quiet", "--return", "--flush", "--command", command, "/dev/null"], settings, null);
  return { ...child, seen: await child.seen(pattern) };
}

/** Starts a command in the repository. */
export const startCommand = (command: string[], settings: Record<string, string>) => launch(command, settings);

/** Runs a file of the repository to its end, with `input` on its standard input. */
export async function runFile(
  runtime: Runtime,
  file: string,
  args: string[],
  settings: Record<string, string>,
  input = "",
): Promise<{ code: number | string; out: string; said: string }> {
  const child = launch([...commandOf[runtime](file), ...args], settings, input);
  const code = await child.ended;
  return { code, out: child.out(), said: child.said() };
}

/** Starts a libSQL server on a folder, and resolves when it accepts connections. */
export async function startSqld(
  binary: string,
  folder: string,
  port?: number,
  options: string[] = [],
): Promise<Running> {
  for (let attempt = 1;; attempt++) {
    const address = `127.0.0.1:${port ?? await findFreePort()}`;
    const child = launch([binary, "-d", folder, "--http-listen-addr", address, "--no-welcome", ...options], {});
    let hasEnded = false;
    void child.ended.then(() => hasEnded = true);
    await until(async () => hasEnded || await isAccepting(Number(address.split(":")[1])));
    if (!hasEnded) return { url: `http://${address}`, ...child };
    if (attempt === startAttempts) throw new Error(`${binary} ended: ${child.output()}`);
  }
}

const startAttempts = 5;

/** Finds a free port below the ephemeral ones, so that the system gives it to no other process meanwhile. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    await new Promise<void>((resolve) => server.close(() => resolve()));
    if (isFree) return port;
  }
}

const isAccepting = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    setTimeout(() => socket.destroy(), 500);
  });

const inheritedNames = ["PATH", "HOME", "NODE_V8_COVERAGE", "LD_PRELOAD", "FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC"];
/** What a child inherits: through these it collects coverage, and is on another date (faketime). It inherits no settings. */
export const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => inheritedNames.includes(name)),
);

/** Starts a command in the repository, with `input` on its standard input. With null that stays open for `type`. */
function launch(
  [command, ...args]: string[],
  settings: Record<string, string>,
  input: string | null = "",
  logFile?: string,
  cwd = pathOf("."),
) {
  const log = logFile === undefined ? "pipe" : openSync(logFile, "a");
  const env = { ...inherited, ...settings };
  const child = spawn(command!, args, { cwd, env, stdio: ["pipe", "pipe", log] });
  if (typeof log === "number") closeSync(log);
  children.add(child);
  child.once("exit", () => children.delete(child));
  // Writing to a child that has ended is no error.
  child.stdin!.on("error", () => {});
  if (input !== null) child.stdin!.end(input);
  const printed = { out: "", said: "" };
  let search = () => {};
  for (const [stream, name] of [[child.stdout, "out"], [child.stderr, "said"]] as const) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => {
      printed[name] += text;
      search();
    });
  }
  const output = () => printed.said + printed.out;
  const ended = new Promise<number | string>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal ?? "unknown"));
  });

  const seen = (pattern: RegExp, timeoutMs = startTimeoutMs) =>
    new Promise<string>((resolve, reject) => {
      const fail = () => reject(new Error(`${command} did not print ${pattern}: ${output()}`));
      const timer = setTimeout(fail, timeoutMs);
      search = () => {
        const match = pattern.exec(output());
        if (match === null) return;
        clearTimeout(timer);
        // Further output need not be searched.
        search = () => {};
        resolve(match[1]!);
      };
      search();
      void ended.then(fail);
    });

  function stop(signal: Signal = "SIGTERM"): Promise<number | string> {
    // After child.kill, Deno reports that signal even if the process has exited otherwise.
    if (child.exitCode === null && child.signalCode === null) process.kill(child.pid!, signal);
    return ended;
  }

  const type = (text: string) => void child.stdin!.write(text);
  return { pid: child.pid!, out: () => printed.out, said: () => printed.said, output, seen, ended, stop, type };
}

/** The open descriptors of a process for a file and those beside it. Null if the system does not report them. */
export async function descriptorsOf(pid: number | "self", path: string): Promise<string[] | null> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => null);
  if (names === null) return null;
  // Those that are closed meanwhile have no link.
  const links = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
  return links.filter((link) => link.startsWith(path)).sort();
}

/** The memory of a process in MiB, now or at its peak. Null if the system does not report it. */
export async function memoryOf(pid: number, name: "VmRSS" | "VmHWM"): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status) ?? [];
  return kib === undefined ? null : Math.round(Number(kib) / 1024);
}
