// Makes system calls on a file fail, with strace (Linux).
import { spawn } from "node:child_process";
import { patience, sleep } from "./fault.ts";

/** Calls, result and time in strace's syntax: `30+20` is the 30th call and each 20th after it. */
export type FailingCalls = { calls: string; result: string; when: string };

/** A running strace. Once `detach` resolves, calls succeed again. */
type Tracer = { countInjected(): number; detach(): Promise<void> };

const optionsOf = (
  path: string,
  { calls, result, when }: FailingCalls,
) => ["-f", "-P", path, "-e", `trace=${calls}`, "-e", `inject=${calls}:${result}:when=${when}`];

/** Makes calls of a process on a file fail. */
export async function failCalls(pid: number, path: string, failing: FailingCalls): Promise<Tracer> {
  const options = [...optionsOf(path, failing), "-p", String(pid)];
  const strace = spawn("strace", options, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "", line = "", injected = 0;
  const ended = new Promise<string>((resolve) => {
    strace.once("error", (error) => resolve(error.message));
    strace.once("close", () => resolve(said.trim()));
  });
  const attached = new Promise<undefined>((resolve) => {
    strace.stderr.setEncoding("utf8").on("data", (text: string) => {
      const lines = (line + text).split("\n");
      line = lines.pop()!;
      injected += lines.filter((line) => line.endsWith("(INJECTED)")).length;
      // Only the first output matters. The calls follow.
      if (said.length < 1_000) said += text;
      if (/Process \d+ attached/.test(said)) resolve(undefined);
    });
  });
  const timeout = sleep(patience).then(() => "it does not attach");
  const obstacle = await Promise.race([attached, ended, timeout]);
  if (obstacle !== undefined) {
    strace.kill("SIGKILL");
    throw new Error(`strace: ${obstacle}`);
  }
  return { countInjected: () => injected, detach: () => (strace.kill("SIGINT"), ended.then(() => {})) };
}

/** A command that runs the one after it in the same process, with failing calls on a file from the start. */
export function failingCalls(path: string, failing: FailingCalls): string[] {
  const options = optionsOf(path, failing).map((option) => `'${option}'`).join(" ");
  const script = `strace ${options} -p $$ > /dev/null 2>&1 &
    for _ in $(seq ${patience / 50}); do
      grep -q '^TracerPid:.0$' /proc/$$/status || exec "$@"
      sleep 0.05
    done`;
  return ["sh", "-c", script, "sh"];
}

/** Why strace cannot make calls fail here, if it cannot. */
export async function findObstacle(): Promise<string | undefined> {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    const { detach } = await failCalls(child.pid!, "/dev/null", { calls: "read", result: "error=EIO", when: "1" });
    await detach();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    child.kill("SIGKILL");
  }
}
