// Requests to the operations of alerts, so that they get each of the responses that the service describes.
import { checkAlerts } from "../../src/management/events/alert-checks.ts";
import type { World } from "../helpers.ts";
import type { Ask, Opened } from "./openapi-cases.ts";

const make = async ({ manage, workspaceId }: World, body: object) =>
  ((await manage("POST", `/workspaces/${workspaceId}/alerts`, body)).json as { id: string }).id;

/** An alert on each scope: one that fires and is about to resolve, one that is muted, and one that was never checked. */
export async function makeAlerts(world: World) {
  const { deployId, promptId, database } = world;
  const firing = await make(world, { condition: "records>1", deployId });
  const muted = await make(world, { condition: "failures>5%", promptId, atLeast: 1 });
  await checkAlerts(world.admin);
  await database.write([{ sql: `update alerts set clear_at = 1 where id = '${firing}'` }]);
  await world.manage("POST", `/alerts/${muted}/mute`, { note: "Known" });
  return { firing, muted, fresh: await make(world, { condition: "cost>1" }) };
}

const named = (which: keyof Opened["alerts"], more: object = {}): Ask => ({ alerts }) => ({
  path: { id: alerts[which] },
  ...more,
});
const each = (more?: object) => [named("firing", more), named("muted", more), named("fresh", more)];
const ofWorkspace = ({ workspaceId }: World) => ({ path: { workspaceId } });

export const alertCases: Record<string, Record<number, Ask[]>> = {
  createAlert: {
    201: [
      (world) => ({ ...ofWorkspace(world), body: { condition: "records<1" } }),
      (world) => ({
        ...ofWorkspace(world),
        body: {
          ...{ condition: "p95>4s", deployId: world.deployId, overMs: 3_600_000, atLeast: 9, keepFiringMs: 0 },
          ...{ actor: "Ada", note: "Slow" },
        },
      }),
      (world) => ({ ...ofWorkspace(world), body: { condition: "feedback.tone2<5", promptId: world.promptId } }),
    ],
    404: [(world) => ({ ...ofWorkspace(world), body: { condition: "records<1", deployId: "nothing" } })],
    409: [
      async (world) => {
        for (let nth = 0; nth < 100; nth++) await make(world, { condition: "records<1" });
        return { ...ofWorkspace(world), body: { condition: "records<1" } };
      },
    ],
  },
  listAlerts: { 200: [ofWorkspace, (world) => ({ ...ofWorkspace(world), query: { limit: "1", state: "firing" } })] },
  readAlert: { 200: each() },
  updateAlert: {
    200: [
      named("firing", { body: { condition: "latency>2s" } }),
      named("fresh", { body: { overMs: 300_000, keepFiringMs: 1, actor: "Ada", note: "Sooner" } }),
      named("muted", { body: { atLeast: 7 } }),
    ],
    409: [
      async (world) => {
        await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses: [] });
        return { path: { id: world.alerts.fresh }, body: { condition: "failures>1%" } };
      },
    ],
  },
  muteAlert: { 200: each({ body: { forMs: 60_000 } }) },
  unmuteAlert: { 200: each() },
  deleteAlert: { 200: each() },
};
