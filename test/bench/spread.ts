// `spread`: load on many workspaces at once, compared with the same load on one of them.
import type { Runtime } from "../runtimes.ts";
import { callOf, measure } from "./load.ts";
import type { Method } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import { createTenants, rowsOf, withFreshService } from "./stage.ts";
import { ratio } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const workspaces = 50;

export async function spread(options: Options): Promise<Table[]> {
  const rows = await rowsOf("spread", options, (runtime, store, method) => compare(runtime, store, method, options));
  return [{ title: `spread over ${workspaces} workspaces at ${options.connections} connections`, rows }];
}

const compare = (runtime: Runtime, store: StoreKind, method: Method, options: Options): Promise<Row> =>
  withFreshService(runtime, store, async ({ url, admin }) => {
    const calls = (await createTenants(admin, workspaces)).map(callOf(method));
    const one = await measure(url, calls.slice(0, 1), options);
    const many = await measure(url, calls, options);
    return {
      runtime,
      store,
      method,
      "one workspace/s": one.perSecond,
      [`${workspaces} workspaces/s`]: many.perSecond,
      ratio: ratio(many.perSecond, one.perSecond),
      failed: one.failed + many.failed,
    };
  });
