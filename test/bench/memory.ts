// `memory`: what the service's process holds while it serves many requests, and after a rest.
import { memoryOf } from "../conformance/processes.ts";
import type { Runtime } from "../runtimes.ts";
import { callOf, load, methods, pause } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import { createTenants, say, withFreshService } from "./stage.ts";
import type { Row, Table } from "./tables.ts";

const rest = 10_000; // ms

export async function memory(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  for (const runtime of options.runtimes) {
    for (const store of options.stores) rows.push(await watch(runtime, store, options));
  }
  return [{ title: `memory: GET and POST in turn at ${options.connections} connections`, rows }];
}

const watch = (runtime: Runtime, store: StoreKind, options: Options): Promise<Row> =>
  withFreshService(runtime, store, async ({ url, pid, admin }) => {
    const [tenant] = await createTenants(admin, 1);
    const calls = methods.map((method) => callOf(method)(tenant!));
    const atStart = await memoryOf(pid, "VmRSS");
    let highest = atStart ?? 0;
    const watching = setInterval(async () => highest = Math.max(highest, await memoryOf(pid, "VmRSS") ?? 0), 1000);
    const sent = { requests: 0, seconds: 0, failed: 0 };
    try {
      while (sent.requests < options.requests) {
        const { requests, seconds, failed } = await load(url, calls, options);
        if (requests === 0) throw new Error("The service answers nothing");
        sent.requests += requests;
        sent.seconds += seconds;
        sent.failed += failed;
        say(`memory: ${runtime} on ${store}, ${sent.requests} of ${options.requests} requests`);
      }
    } finally {
      clearInterval(watching);
    }
    const atEnd = await memoryOf(pid, "VmRSS");
    await pause(rest);
    return {
      runtime,
      store,
      requests: sent.requests,
      "requests/s": Math.round(sent.requests / sent.seconds),
      "MiB at start": atStart,
      highest: Math.max(highest, atEnd ?? 0),
      "at the end": atEnd,
      [`after ${rest / 1000} s`]: await memoryOf(pid, "VmRSS"),
      failed: sent.failed,
    };
  });
