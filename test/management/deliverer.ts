// Delivers to webhooks in a test. Time and receivers are the test's own.
import * as assert from "uvu/assert";
import { createDelivery } from "../../src/management/events/deliver.ts";
import type { Send } from "../../src/management/events/deliver.ts";
import type { WebhookRequest } from "../../src/management/events/webhook-requests.ts";
import type { World } from "../helpers.ts";

export type Answering = (request: WebhookRequest) => Partial<Awaited<ReturnType<Send>>> | Error;

/** What delivers in a process of a world, and what it has sent. The receiver takes everything unless it answers otherwise. */
export function deliverer(world: Pick<World, "database" | "now">, answer: Answering = () => ({}), isAlone = false) {
  const sent: WebhookRequest[] = [], results: string[] = [], errors: unknown[] = [];
  const delivery = createDelivery({
    store: { database: world.database, clock: () => world.now },
    isAlone,
    // deno-lint-ignore require-await
    async send(request) {
      sent.push(request);
      const response = answer(request);
      if (response instanceof Error) throw response;
      return { status: 204, text: "", retryAfter: undefined, ...response };
    },
    isOver: () => false,
    onAttempt: (result) => void results.push(result),
    onError: (error) => void errors.push(error),
  });
  return {
    ...{ sent, results },
    async run(): Promise<WebhookRequest[]> {
      const before = sent.length;
      await delivery.look();
      await delivery.rest();
      assert.equal(errors, []);
      return sent.slice(before);
    },
  };
}
