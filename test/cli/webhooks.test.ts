// Webhooks on the command line, on a local database and on a service.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openPlaces, words } from "./places.ts";

const test = suite("webhooks on the command line");

const { everywhere } = await openPlaces(test);

everywhere("creates a webhook, shows its secret once, and tests it", async ({ cli, data, setUp }) => {
  const { workspaceId } = await setUp();
  const scope = ["--workspace", workspaceId];
  const url = "https://hooks.promptledger.dev/hidden";
  const made = await cli([...words`webhook create --url ${url} --events deployment.*,prompt.* --json`, ...scope]);
  assert.equal([made.code, made.said], [0, "Store the secret now: it is not shown again\n"]);
  const { id, secret } = made.json as { id: string; secret: string };
  assert.match(secret, /^whsec_/);
  const list = await cli(words`webhook list`);
  assert.match(list.out, /^address +state +format +events/);
  assert.match(list.out, /https:\/\/hooks\.promptledger\.dev +on +standard +deployment\.\*,prompt\.\*/);
  assert.not.match(list.out + (await cli(words`webhook show ${id}`)).out, /hidden|whsec_/);
  const rotated = await cli(words`webhook rotate ${id} --overlap 2h`);
  assert.match(rotated.said, /^Store the secret now: it is not shown again\. The old one signs too until \d{4}-/);
  const tested = await cli(words`webhook test ${id}`);
  assert.match(tested.said, "The service sends it within seconds: see webhook deliveries");
  const deliveries = await data<{ type: string }[]>(words`webhook deliveries ${id}`);
  assert.equal(deliveries.map(({ type }) => type), ["webhook.test"]);
  const none = await cli(words`webhook resend ${id} --delivery 7`);
  assert.equal([none.code, none.said], [0, "Nothing to send again: see webhook deliveries\n"]);
  const resent = await cli(words`webhook resend ${id}`);
  assert.equal([resent.code, resent.said.split("\n")[0]], [2, "promptledger: Give either --delivery or --since"]);
  await data(words`webhook disable ${id}`);
  assert.match((await cli(words`webhook list`)).out, /off \(user\)/);
  const off = await cli(words`webhook test ${id}`);
  assert.equal([off.code, off.said], [1, `promptledger: Webhook ${id} is off: enable it first\n`]);
  await data(words`webhook delete ${id}`);
});

everywhere("reads a credential from a file, and shows it never", async ({ cli, data, setUp }) => {
  await setUp();
  const url = "https://api.github.com/repos/acme/prompts/dispatches";
  const create = [...words`webhook create --url ${url} --format github --json`];
  const missing = await cli(create);
  assert.equal([missing.code, missing.said], [1, "promptledger: With github a credential is required\n"]);
  const made = await cli([...create, "--credential", "-"], "ghp_token\n");
  assert.equal([made.code, made.said], [0, ""]);
  const { id } = made.json as { id: string };
  const { out } = await cli(words`webhook update ${id} --events key.*`);
  assert.not.match(made.out + out, "ghp_token");
  assert.is((await data<{ events: string }>(words`webhook show ${id}`)).events, "key.*");
  const inside = await cli(words`webhook create --url http://127.0.0.1/`);
  assert.equal([inside.code, inside.said], [
    1,
    "promptledger: The URL must begin with https://, or with http:// if WEBHOOK_ALLOW names its host\n",
  ]);
  await data(words`webhook delete ${id}`);
});

test.run();
