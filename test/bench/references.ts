// `references`: reading by NAME@DEPLOYMENT compared with reading by id, in alternating loads.
import { callOf, load, warmUp } from "./load.ts";
import type { Load } from "./load.ts";
import type { Options } from "./options.ts";
import { createTenants, say, withFreshService } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const pairs = 6;

export async function references(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  for (const runtime of options.runtimes) {
    for (const store of options.stores) {
      say(`references: ${runtime} on ${store}`);
      rows.push(
        await withFreshService(runtime, store, async (stage) => {
          const [tenant] = await createTenants(stage.admin, 1);
          const byId = callOf("GET")(tenant!);
          const byName = { ...byId, deployId: "greeting@production" };
          await warmUp(stage.url, [byId, byName], options);
          const loads: [id: Load, name: Load][] = [];
          for (let pair = 0; pair < pairs; pair++) {
            // Either is first equally often.
            const first = await load(stage.url, [pair % 2 === 0 ? byId : byName], options);
            const second = await load(stage.url, [pair % 2 === 0 ? byName : byId], options);
            loads.push(pair % 2 === 0 ? [first, second] : [second, first]);
          }
          const ratios = loads.map(([id, name]) => ratio(name.perSecond, id.perSecond)).sort((a, b) => a - b);
          const sum = (which: 0 | 1) => loads.reduce((sum, pair) => sum + pair[which].perSecond, 0) / pairs;
          return {
            runtime,
            store,
            "by id/s": round(sum(0), 0),
            "by name/s": round(sum(1), 0),
            "median ratio": round((ratios[pairs / 2 - 1]! + ratios[pairs / 2]!) / 2, 3),
            "least": ratios[0]!,
            "greatest": ratios.at(-1)!,
            failed: loads.flat().reduce((sum, { failed }) => sum + failed, 0),
          };
        }),
      );
    }
  }
  return [{ title: `references: GET by name and by id, ${pairs} pairs at ${options.connections} connections`, rows }];
}
