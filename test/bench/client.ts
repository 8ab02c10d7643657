// `client`: what prompt() from the cache, filling in and recording cost an application, beside a read of an embedded service.
import { runFile } from "../conformance/processes.ts";
import type { Options } from "./options.ts";
import { say } from "./stage.ts";
import { round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

export async function client(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  for (const runtime of options.runtimes) {
    say(`client: ${runtime}`);
    const { code, out, said } = await runFile(runtime, "test/bench/client-costs.ts", [], {});
    if (code !== 0) throw new Error(`The client on ${runtime} ended with ${code}: ${said}`);
    const costs = JSON.parse(out) as Record<"promise" | "prompt" | "fill" | "record" | "read", number>;
    rows.push({
      runtime,
      "await alone": round(costs.promise, 2),
      "prompt() from cache": round(costs.prompt, 2),
      "fill()": round(costs.fill, 2),
      "record()": round(costs.record, 2),
      "embedded read": round(costs.read, 0),
    });
  }
  return [{ title: "client: µs each", rows }];
}
