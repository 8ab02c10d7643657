// A started service sends events to webhooks: a receiver on loopback gets them and checks their signatures.
// Runs on every runtime.
import type { ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startService, until } from "../conformance/processes.ts";
import { send } from "../conformance/http-client.ts";
import type { Delivery } from "../../src/management/events/webhook-deliveries.ts";
import type { NewWebhook } from "../../src/management/events/webhooks.ts";
import { adminToken } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { startProxy } from "./raw-proxy.ts";
import { createReceiver, manage } from "./receiver.ts";
import type { Received } from "./receiver.ts";

const test = suite(`delivery of webhooks on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

test("a service sends what happens, signed, and names what it may not reach", async () => {
  const receiver = await createReceiver((response) => response.writeHead(200).end("taken"));
  const { host, url, received } = receiver;
  const settings = { DATABASE_URL: `file:${folder.path}/one.db`, ADMIN_TOKEN: adminToken, WEBHOOK_ALLOW: host };
  const service = await startService(currentRuntime, settings);
  const webhook = await manage<NewWebhook>(service.url, "POST", "/webhooks", { url, events: "workspace.*" });
  const away = await manage<NewWebhook>(service.url, "POST", "/webhooks", { url: "https://nowhere.promptledger.dev/" });
  const created = await manage<{ id: string }>(service.url, "POST", "/workspaces", { name: "Acme" });
  await until(() => received.length > 0);
  const [{ headers, body }] = received as [Received];
  const { type, data } = new Webhook(webhook.secret!).verify(body, headers) as { type: string; data: { id: string } };
  assert.equal([type, data.id], ["workspace.created", headers["webhook-id"]]);
  assert.is((data as unknown as { subject: { id: string } }).subject.id, created.id);
  const deliveries = async ({ id }: NewWebhook) =>
    (await manage<{ items: Delivery[] }>(service.url, "GET", `/webhooks/${id}/deliveries`)).items;
  await until(async () => (await deliveries(webhook))[0]?.outcome === "delivered");
  const [{ status, response, attempts }] = await deliveries(webhook) as [Delivery];
  assert.equal([status, response, attempts], [200, "taken", 1]);
  await until(async () => (await deliveries(away)).some(({ error }) => error?.startsWith("nowhere.promptledger.dev ")));
  const metrics = await send(service.url, "/metrics", { headers: [`Authorization: Bearer ${adminToken}`] });
  assert.match(metrics.text, /^promptledger_webhook_attempts_total\{result="delivered"\} 1$/m);
  assert.match(metrics.text, /^promptledger_webhook_oldest_undelivered_seconds \d/m);
  assert.not.match(service.output(), "/hook");
  assert.is(await service.stop(), 0);
  receiver.close();
});

test("a service sends through the proxy that WEBHOOK_PROXY names, and not through that of the environment", async () => {
  const receiver = await createReceiver((response) => response.writeHead(200).end("taken"));
  const port = Number(new URL(receiver.url).port);
  const [proxy, other] = await Promise.all([1, 2].map(() => startProxy(() => port)));
  const settings = {
    ...{ DATABASE_URL: `file:${folder.path}/proxied.db`, ADMIN_TOKEN: adminToken, WEBHOOK_ALLOW: "hooks.test" },
    ...{ WEBHOOK_PROXY: proxy!.url, HTTP_PROXY: other!.url, http_proxy: other!.url },
  };
  const service = await startService(currentRuntime, settings);
  const hook = { url: "http://hooks.test/hook", events: "workspace.*" };
  await manage<NewWebhook>(service.url, "POST", "/webhooks", hook);
  await manage(service.url, "POST", "/workspaces", { name: "Acme" });
  await until(() => receiver.received.length > 0);
  assert.match(proxy!.heads[0]!, "POST http://hooks.test/hook HTTP/1.1");
  assert.equal(other!.heads, []);
  assert.is(await service.stop(), 0);
  for (const each of [proxy!, other!, receiver]) each.close();
});

test("a service that stops waits for the request that it sends, and sends the rest when it starts again", async () => {
  let pending: ServerResponse | undefined;
  const receiver = await createReceiver((response) => {
    if (receiver.received.length === 1) pending = response;
    else response.writeHead(204).end();
  });
  const { host, url, received } = receiver;
  const settings = { DATABASE_URL: `file:${folder.path}/two.db`, ADMIN_TOKEN: adminToken, WEBHOOK_ALLOW: host };
  const service = await startService(currentRuntime, { ...settings, SHUTDOWN_TIMEOUT: "3600" });
  const webhook = await manage<NewWebhook>(service.url, "POST", "/webhooks", { url, events: "workspace.created" });
  for (const name of ["One", "Two"]) await manage(service.url, "POST", "/workspaces", { name });
  await until(() => received.length === 1);
  const stopped = service.stop();
  await until(() => service.output().includes("Stopping"));
  pending!.writeHead(204).end();
  assert.is(await stopped, 0);
  assert.is(received.length, 1);
  const again = await startService(currentRuntime, settings);
  await until(() => received.length === 2);
  const names = received.map(({ body, headers }) => {
    const { data } = new Webhook(webhook.secret!).verify(body, headers) as { data: { subject: { name: string } } };
    return data.subject.name;
  });
  assert.equal(names, ["One", "Two"]);
  assert.is(await again.stop(), 0);
  receiver.close();
});

test.run();
