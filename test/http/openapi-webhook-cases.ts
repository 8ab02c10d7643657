// Requests to the operations of webhooks, so that they get each of the responses that the service describes.
import type { World } from "../helpers.ts";
import type { Ask, Opened } from "./openapi-cases.ts";

const url = "https://hooks.example.com/hook";
const repository = { url: "https://api.github.com/repos/acme/prompts/dispatches", credential: "ghp_x" };

const make = async ({ manage }: World, more: object = {}) =>
  ((await manage("POST", "/webhooks", { url, ...more })).json as { id: string }).id;

/** A webhook as it was made, one of a workspace that was used and is off, one that sent, and one of each other format. */
export async function makeWebhooks(world: World) {
  const fresh = await make(world), used = await make(world, { workspaceId: world.workspaceId, events: "deployment.*" });
  await world.manage("POST", `/webhooks/${used}/rotate`);
  await world.manage("POST", `/webhooks/${used}/disable`);
  const github = await make(world, { ...repository, format: "github" }), slack = await make(world, { format: "slack" });
  const sending = await make(world);
  for (let nth = 0; nth < 4; nth++) await world.manage("POST", `/webhooks/${sending}/test`);
  await world.database.write([
    `webhooks set last_success_at = 1 where id = '${used}'`,
    `webhook_deliveries set outcome = 'delivered', due_at = null, attempts = 1, last_at = 2, status = 204,
      response = '', duration_ms = 3 where number = 1`,
    `webhook_deliveries set outcome = 'failed', due_at = null, attempts = 10, last_at = 2, error = 'Reset',
      duration_ms = 3 where number = 2`,
    "webhook_deliveries set outcome = 'stopped', due_at = null where number = 3",
  ].map((change) => ({ sql: `update ${change}` })));
  return { fresh, used, github, slack, sending };
}

const named = (which: keyof Opened["webhooks"], more: object = {}): Ask => ({ webhooks }) => ({
  path: { id: webhooks[which] },
  ...more,
});
const both = [named("fresh"), named("used")];

export const webhookCases: Record<string, Record<number, Ask[]>> = {
  createWebhook: {
    201: [
      () => ({ body: { ...repository, format: "github" } }),
      ({ workspaceId }) => ({ body: { url, events: "deployment.*", format: "standard", workspaceId } }),
    ],
    404: [() => ({ body: { url, workspaceId: "nothing" } })],
    409: [
      async (world) => {
        for (let nth = 0; nth < 100; nth++) await make(world);
        return { body: { url } };
      },
    ],
  },
  listWebhooks: {
    200: [() => ({}), ({ workspaceId }) => ({ query: { workspaceId, limit: "1" } })],
    404: [() => ({ query: { workspaceId: "ws_none" } })],
  },
  readWebhook: { 200: both },
  updateWebhook: {
    200: [
      named("fresh", { body: { events: null } }),
      named("used", { body: { url, events: "key.*" } }),
      named("github", { body: repository }),
    ],
  },
  rotateWebhook: {
    200: [named("fresh", { body: { overlapMs: 0 } }), named("used", { body: { overlapMs: 1000 } })],
    409: [named("slack")],
  },
  enableWebhook: { 200: both },
  disableWebhook: { 200: both },
  deleteWebhook: { 200: both },
  testWebhook: { 200: [named("fresh")], 409: [named("used")] },
  listWebhookDeliveries: {
    200: [
      named("sending"),
      named("sending", { query: { failed: "true" } }),
      named("sending", { query: { limit: "1" } }),
    ],
  },
  resendWebhookDeliveries: {
    200: [named("sending", { body: { delivery: 1 } }), named("sending", { body: { since: 1, failed: true } })],
    409: [named("used", { body: { delivery: 1 } })],
  },
};
