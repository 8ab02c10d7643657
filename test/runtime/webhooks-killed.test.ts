// Three services on one libSQL server send to webhooks whose receivers fail at random, and each service is killed in turn. Every event
// arrives, signed, and the first arrivals keep the order of the log.
// Runs on Node alone.
// Runs in CI alone.
import { Webhook } from "standardwebhooks";
import { isFull, seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startService, startSqld, until } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import type { Delivery } from "../../src/management/webhook-deliveries.ts";
import type { NewWebhook } from "../../src/management/webhooks.ts";
import { adminToken } from "../helpers.ts";
import { createReceiver, manage } from "./receiver.ts";

const test = suite("webhooks of services that are killed");

const count = isFull ? 2_000 : 200; // events
const failing = 0.05; // of the requests
const pause = 500; // ms between two looks at what is done

const sqld = await findSqld();

/** Random numbers from 0 to 1, the same in each run (mulberry32). */
function createRandom(state: number): () => number {
  return () => {
    state = state + 0x6d2b79f5 | 0;
    const mixed = Math.imul(state ^ state >>> 15, 1 | state);
    const more = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((more ^ more >>> 14) >>> 0) / 2 ** 32;
  };
}

if ("binary" in sqld) {
  test("every event arrives, in order but for what was sent again", async () => {
    const random = createRandom(seed);
    const folder = await createFolder();
    const server = await startSqld(sqld.binary, folder.path);
    const receiver = await createReceiver((response) => {
      const fails = random() < failing;
      if (fails && random() < 0.5) response.destroy();
      else response.writeHead(fails ? 500 : 204).end();
    });
    const settings = { DATABASE_URL: server.url, ADMIN_TOKEN: adminToken, WEBHOOK_ALLOW: receiver.host };
    const start = () => startService("Node", settings);
    const services = [await start(), await start(), await start()];
    const { url: base } = services[0]!;
    const { id: workspaceId } = await manage<{ id: string }>(base, "POST", "/workspaces", { name: "Acme" });
    const webhooks = await Promise.all(
      [1, 2].map((nth) =>
        manage<NewWebhook>(base, "POST", "/webhooks", { url: `${receiver.url}/${nth}`, events: "workspace.updated" })
      ),
    );
    for (let nth = 0; nth < count; nth++) {
      const at = services[nth % services.length]!;
      await manage(at.url, "PATCH", `/workspaces/${workspaceId}`, { name: `Name ${nth}` });
      if (nth % Math.ceil(count / 4) === Math.ceil(count / 8)) {
        const killed = Math.floor(random() * services.length);
        await services[killed]!.stop("SIGKILL");
        services[killed] = await start();
      }
    }
    const last = services[0]!.url;
    const isDone = async ({ id }: NewWebhook) => {
      // What failed waits for its time. It is sent at once instead.
      await manage(last, "POST", `/webhooks/${id}/resend`, { since: 0, failed: true });
      await new Promise((resolve) => setTimeout(resolve, pause));
      const list = async (query: string) =>
        (await manage<{ items: Delivery[] }>(last, "GET", `/webhooks/${id}/deliveries?${query}`)).items;
      const [newest] = await list("limit=1");
      return newest?.number === count && newest.outcome === "delivered" &&
        (await list("failed=true&limit=1")).length === 0;
    };
    for (const [nth, webhook] of webhooks.entries()) {
      await until(() => isDone(webhook));
      const own = receiver.received.filter(({ path }) => path.endsWith(`/${nth + 1}`));
      const names = own.map(({ headers, body }) => {
        const { data } = new Webhook(webhook.secret!).verify(body, headers) as { data: { after: { name: string } } };
        return data.after.name;
      });
      assert.equal([...new Set(names)], Array.from({ length: count }, (_, nth) => `Name ${nth}`));
    }
    await Promise.all(services.map((service) => service.stop()));
    await server.stop("SIGKILL");
    receiver.close();
    await folder.remove();
  });
} else {
  console.log(`skipped: webhooks of services that are killed: ${sqld.missing}`);
  test.skip();
}

test.run();
