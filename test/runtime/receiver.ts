// A receiver of webhooks on loopback.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { send } from "../conformance/http-client.ts";
import { adminToken } from "../helpers.ts";

export type Received = { path: string; headers: Record<string, string>; body: string };

/** A receiver of http on loopback, and what it got. */
export async function createReceiver(answer: (response: ServerResponse, received: Received) => void) {
  const received: Received[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part: string) => body += part).on("end", () => {
      const one = { path: request.url!, headers: request.headers as Record<string, string>, body };
      received.push(one);
      answer(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ received, host, url: `http://${host}/hook` },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Calls an operation of management of a started service. */
export async function manage<T>(base: string, method: string, path: string, body?: object): Promise<T> {
  const headers = [`Authorization: Bearer ${adminToken}`, "Content-Type: application/json"];
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await send(base, `/admin/v1${path}`, { method, headers, ...sent });
  assert.ok(answer.status < 300, answer.text);
  return JSON.parse(answer.text) as T;
}
