// People who look at a service while a fault hits it: at statistics, a search, an export and a verification, over and over, so
// that its reader thread is never idle.
import { send } from "../conformance/http-client.ts";
import { adminToken } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { sleep } from "./fault.ts";
import { pace } from "./load.ts";

export const lookersSettings = { ADMIN_TOKEN: adminToken };

/** Starts them; `stop` resolves with a sentence for each kind of answer that must not be. */
export function startLookers(base: string, { deployId }: Tenant): { stop(): Promise<string[]> } {
  let isStopped = false;
  const strange = new Set<string>();
  const views = ["/stats", "/diagnoses?text=nothing", "/diagnoses/export"].map((view) =>
    `/deployments/${deployId}${view}`
  );

  async function look(path: string): Promise<void> {
    while (!isStopped) {
      const headers = [`Authorization: Bearer ${adminToken}`];
      const answer = await send(base, `/admin/v1${path}`, { headers }).catch(() => undefined);
      if (answer !== undefined && ![200, 503].includes(answer.status)) strange.add(`${path} got ${answer.status}`);
      await sleep(answer?.status === 200 ? pace.thinkMs : pace.pauseMs);
    }
  }

  const looking = [...views, "/verify"].map(look);
  return {
    async stop() {
      isStopped = true;
      await Promise.all(looking);
      return [...strange];
    },
  };
}
