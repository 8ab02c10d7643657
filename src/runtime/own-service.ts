// Starts `serve` of this program as a separate process, on a free port.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import process from "node:process";
import { unusable } from "../common/errors.ts";

export type OwnService = {
  url: string;
  /** Sends a signal, and resolves once the process has ended. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
};

const startTimeout = 60_000; // ms

/**
 * The variables that a runtime needs. Settings in the environment are not passed on: the service gets only explicit
 * ones.
 */
const passedOn = /^(PATH|HOME|TMP|TEMP|TMPDIR|LANG|SYSTEMROOT|LD_LIBRARY_PATH|DENO_DIR|XDG_CACHE_HOME)$/i;

/** Set for a service whose standard input closes when the process that started it ends. */
const ownedVariable = "PROMPTLEDGER_OWNED";

/** Ends a process of `startOwn` once the one that started it is gone, which closes the pipe even if it is killed. */
export function endWithOwner(): void {
  if (process.env[ownedVariable] === undefined) return;
  process.stdin.once("end", () => process.exit(1)).once("error", () => process.exit(1)).resume();
}

const running = new Set<ChildProcess>();

/** Kills the running services, without waiting for them. */
export const killAll = (): void => running.forEach((child) => void child.kill("SIGKILL"));

/** Starts the service with these settings. Rejects with its output if it does not listen. */
export async function startOwn(settings: Record<string, string>): Promise<OwnService> {
  const [command, ...args] = ownCommand();
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name)));
  const env = { ...inherited, HOST: "127.0.0.1", PORT: "0", LOG_FORMAT: "json", [ownedVariable]: "true", ...settings };
  const child = spawn(command, [...args, "serve"], { env, stdio: ["pipe", "ignore", "pipe"] });
  running.add(child);
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      running.delete(child);
      resolve();
    };
    child.once("exit", end).once("error", end);
  });
  const end: OwnService["end"] = async (signal) => {
    child.kill(signal);
    await ended;
  };
  let output = "";
  const url = await new Promise<string | undefined>((resolve) => {
    const timer = setTimeout(resolve, startTimeout, undefined);
    void ended.then(() => resolve(undefined)).finally(() => clearTimeout(timer));
    child.stderr.on("data", (data) => {
      // Reading continues, as the service would drop log lines without a reader.
      output = (output + String(data)).slice(-10_000);
      const [, url] = /"Listening".*?"url":"([^"]+)"/.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  if (url !== undefined) return { url, end };
  await end("SIGKILL");
  throw unusable(`the service did not start. It said:\n${output.trim() || "nothing"}`);
}

/** The command that runs this program. */
export function ownCommand(): [string, ...string[]] {
  const { execPath, execArgv, argv } = process, program = argv[1]!;
  return "Deno" in globalThis ? [execPath, "run", "--quiet", "--allow-all", program] : [execPath, ...execArgv, program];
}
