// Describes webhooks in OpenAPI: the body of a delivery, with the types of events and their meanings.
import { eventTypes } from "../management/kernel/event-types.ts";
import { Event } from "../management/events/events.ts";
import { described, predicate, refer, shape } from "../schema/struct.ts";
import * as v from "../schema/values.ts";
import type { Part } from "../http/face.ts";
import { json, parameter } from "./openapi-components.ts";
import { statusOf } from "../http/respond.ts";

const meanings: Readonly<Record<string, string>> = { ...eventTypes, "webhook.test": "Somebody tests the webhook" };

/** The body of a delivery in the format `standard`. */
export const DeliveredEvent = shape("DeliveredEvent", {
  type: predicate<string>("a type of event", (value) => typeof value === "string" && Object.hasOwn(meanings, value), {
    type: "string",
    description: "What happened. Later versions of the service have more types",
    oneOf: Object.entries(meanings).map(([type, description]) => ({ const: type, description })),
  }),
  timestamp: described(v.text, "When it happened, in ISO 8601"),
  data: Event,
});

const header = (name: string, about: string, pattern: string) =>
  parameter(name, "header", described(v.text, about, { pattern }));

/** Request to a receiver, and its possible responses. */
export const webhooks: Part = {
  event: {
    post: {
      tags: ["Webhooks"],
      security: [],
      operationId: "deliverEvent",
      summary: "Receive an event, signed as Standard Webhooks 1.0.0 says, at least once",
      parameters: [
        header("webhook-id", "The id of the event, which is the same in each attempt", "^evt_[0-9a-f]{32}$"),
        header("webhook-timestamp", "When the attempt was made, in Unix seconds", "^[0-9]+$"),
        header(
          "webhook-signature",
          "Signatures of `ID.TIMESTAMP.BODY`, separated by spaces, one for each valid secret",
          "^v1,[0-9A-Za-z+/]{43}=( v1,[0-9A-Za-z+/]{43}=)*$",
        ),
      ],
      requestBody: { required: true, content: json(refer(DeliveredEvent)) },
      responses: {
        "2XX": { description: "Confirms the event. Any other response than these two has it sent again" },
        [statusOf.gone]: { description: "Switches the webhook off" },
      },
    },
  },
};
