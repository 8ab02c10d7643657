// `embedded`: calls of a service by code that embeds it, compared with requests over HTTP to one of its own.
import { runFile } from "../conformance/processes.ts";
import { callOf, load, measure, methods } from "./load.ts";
import type { Method } from "./load.ts";
import type { Options } from "./options.ts";
import { createTenants, say, withFreshService, withStore } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

type Measured = Record<Method, { perSecond: number; p50: number }>;

export async function embedded(options: Options): Promise<Table[]> {
  const { seconds, connections } = options;
  const rows: Row[] = [];
  for (const runtime of options.runtimes) {
    say(`embedded: ${runtime}`);
    const calls = await withStore("file", async ({ url }) => {
      const settings = { DATABASE_URL: url, SECONDS: String(seconds), CONNECTIONS: String(connections) };
      const { code, out, said } = await runFile(runtime, "test/bench/embedded-calls.ts", [], settings);
      if (code !== 0) throw new Error(`The calls on ${runtime} ended with ${code}: ${said}`);
      return JSON.parse(out) as Measured;
    });
    for (const method of methods) {
      const requests = await withFreshService(runtime, "file", async ({ url, admin }) => {
        const [call] = (await createTenants(admin, 1)).map(callOf(method));
        const { perSecond } = await measure(url, [call!], { connections, seconds });
        const { p50 } = await load(url, [call!], { connections: 1, seconds });
        return { perSecond, p50: 1000 * p50 };
      });
      const { perSecond, p50 } = calls[method];
      rows.push({
        runtime,
        method,
        "requests/s over HTTP": requests.perSecond,
        "calls/s": perSecond,
        ratio: ratio(perSecond, requests.perSecond),
        "p50 µs over HTTP, alone": round(requests.p50, 0),
        "p50 µs of a call, alone": round(p50, 0),
      });
    }
  }
  return [{ title: `embedded: ${connections} calls at once, and one alone, on a file`, rows }];
}
