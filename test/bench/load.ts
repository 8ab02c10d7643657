// Load from wrk: sends requests repeatedly, and measures the answers.
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { pathOf } from "../runtimes.ts";

export type Method = "GET" | "POST";
export const methods: Method[] = ["GET", "POST"];

/** A request that alternates with others. */
export type Call = { method: Method; deployId: string; key: string; idempotencyKey?: string };

export const callOf = (method: Method) => ({ deployId, key }: { deployId: string; key: string }): Call => ({
  method,
  deployId,
  key,
});

/** How many connections, and for how long. */
type Pressure = { connections: number; seconds: number };

/** `failed` counts answers of 400 and above, and requests without an answer. Latencies are in ms. */
export type Load = { requests: number; seconds: number; perSecond: number; p50: number; p99: number; failed: number };

/** The body of every POST. */
export const postBody = JSON.stringify({
  sessionId: "order-4711",
  status: 1,
  content: { input: "Where is my parcel? I ordered it a week ago.", output: "It arrives tomorrow between 9 and 12." },
  latency: 840.5,
  startAt: 1763000000000,
  endAt: 1763000000840,
  additional_properties: {
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    token_usage: { prompt_tokens: 52, completion_tokens: 9 },
  },
});
/** The column `measures` of its record. */
export const postMeasures = "840.5,52,9";

const run = promisify(execFile);

export const hasWrk = (): Promise<boolean> => run("wrk", ["-v"]).then(() => true, (error) => error.code !== "ENOENT");

/** Sends the calls in turn, for `seconds`. */
export async function load(url: string, calls: Call[], { connections, seconds }: Pressure): Promise<Load> {
  const { stdout } = await run(
    "wrk",
    ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", pathOf("test/bench/wrk.lua"), url],
    {
      env: {
        ...process.env,
        BENCH_CALLS: calls.map(({ method, deployId, key, idempotencyKey = "-" }) =>
          `${method} /v1/prompts?deployId=${deployId} ${key} ${idempotencyKey}`
        ).join("\n"),
        BENCH_BODY: postBody,
      },
    },
  );
  const summary = JSON.parse(stdout.trim().split("\n").at(-1)!);
  return { ...summary, perSecond: Math.round(summary.requests / summary.seconds) };
}

/** The same for a second, which compiles code and fills caches. */
export async function warmUp(url: string, calls: Call[], { connections }: Pressure): Promise<void> {
  await load(url, calls, { connections, seconds: 1 });
}

/** Measures a load after a warm-up. */
export async function measure(url: string, calls: Call[], pressure: Pressure): Promise<Load> {
  await warmUp(url, calls, pressure);
  return load(url, calls, pressure);
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
