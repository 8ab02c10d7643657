// Deployments as prompts of the protocol, and prompts as resources.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createDeployment, createPrompt } from "../actions.ts";
import { deactivateDeployment } from "../../src/management/deployments/deployment-changes.ts";
import { perform } from "../../src/management/kernel/operation.ts";
import { createTenant, createWorld, promptFile, toPrompt } from "../helpers.ts";
import { createAgent, makeToken } from "./agent.ts";
import type { Result } from "./agent.ts";

const test = suite("MCP: prompts and resources");

const file = {
  title: "Reply",
  description: "Answers a customer",
  messages: [
    { role: "system", content: "You work for {{shop}}." },
    { role: "assistant", content: "Hello" },
    {
      role: "user",
      content: [{ type: "text", text: "{{question}}" }, { type: "image_url", image_url: { url: "{{shop}}" } }],
    },
  ],
  llmConfig: {},
  variables: {
    shop: { type: "text", description: "The name of the shop" },
    question: { type: "text", required: false },
  },
};

async function createReply() {
  const world = await createWorld();
  world.now++;
  const { id: promptId } = await createPrompt(
    world.admin,
    world.workspaceId,
    toPrompt({ ...file, name: "support/reply" }),
  );
  const { id } = await createDeployment(world.admin, world.workspaceId, { name: "production", promptId });
  return { world, id };
}

const namesIn = (result: Result, member: string) => (result[member] as { name: string }[]).map(({ name }) => name);

test("active deployments are prompts, and variables their arguments", async () => {
  const { world, id } = await createReply();
  const agent = createAgent(world, await makeToken(world, "viewer"));
  const { prompts, ...rest } = await agent.request("prompts/list");
  assert.equal([rest.nextCursor, rest.ttlMs, rest.cacheScope], [undefined, 60_000, "private"]);
  assert.equal(prompts, [
    {
      name: "support/reply@production",
      title: "Reply",
      description: "Answers a customer",
      arguments: [{ name: "shop", description: "The name of the shop", required: true }, {
        name: "question",
        required: false,
      }],
    },
    {
      name: "greeting@production",
      title: "Greeting",
      description: "Says hello",
      arguments: [{ name: "name", required: true }],
    },
  ]);
  await perform(deactivateDeployment, world.admin, { value: { id } });
  assert.equal(namesIn(await agent.request("prompts/list"), "prompts"), ["greeting@production"]);
  const { error } = (await agent.send("prompts/get", { name: "support/reply@production" })).json as {
    error: { code: number };
  };
  assert.is(error.code, -32602);
});

test("a prompt is filled in, with the two roles of the protocol", async () => {
  const { world, id } = await createReply();
  const agent = createAgent(world, await makeToken(world, "viewer"));
  const values = { shop: 'The "Shop" {{question}}' };
  for (const name of ["support/reply@production", id]) {
    const { description, messages } = await agent.request("prompts/get", { name, arguments: values });
    assert.is(description, "Answers a customer");
    assert.equal(messages, [
      { role: "user", content: { type: "text", text: 'You work for The "Shop" {{question}}.' } },
      { role: "assistant", content: { type: "text", text: "Hello" } },
      { role: "user", content: { type: "text", text: "" } },
      {
        role: "user",
        content: {
          type: "text",
          text: String.raw`{"type":"image_url","image_url":{"url":"The \"Shop\" {{question}}"}}`,
        },
      },
    ]);
  }
  const missing = await agent.send("prompts/get", { name: id, arguments: {} });
  assert.match(missing.text, "Missing arguments: shop");
  assert.match((await agent.send("prompts/get", { name: id, arguments: { shop: 5 } })).text, "-32602");
});

test("prompts are resources, in their newest version or another one", async () => {
  const { world } = await createReply();
  const agent = createAgent(world, await makeToken(world, "editor"));
  const { resources } = await agent.request("resources/list");
  const uri = `promptledger://${world.workspaceId}/support/reply`;
  assert.equal((resources as object[])[0], {
    ...{
      uri,
      name: "support/reply",
      title: "Reply",
      description: "Version 1, the newest",
      mimeType: "application/json",
    },
  });
  await agent.call("publish_version", { prompt: "support/reply", baseVersion: 1, title: "Second" });
  const read = async (uri: string) => {
    const { contents: [content] } = await agent.request("resources/read", { uri }) as Result & {
      contents: { uri: string; text: string }[];
    };
    assert.is(content!.uri, uri);
    const { title, version, messages } = JSON.parse(content!.text) as {
      title: string;
      version: number;
      messages: object[];
    };
    return [title, version, messages.length];
  };
  assert.equal(await read(uri), ["Second", 2, 3]);
  assert.equal(await read(`${uri}?version=1`), ["Reply", 1, 3]);
  assert.equal(await read(`promptledger://${world.workspaceId}/support%2Freply`), ["Second", 2, 3]);
  for (
    const wrong of [
      `${uri}?version=0`,
      `${uri}?version=9`,
      `${uri}?v=1`,
      `${uri}/%`,
      "promptledger://ws_x/support/reply",
      "",
    ]
  ) {
    assert.match((await agent.send("resources/read", { uri: wrong })).text, '"code":-32602', wrong);
  }
  const { resourceTemplates } = await agent.request("resources/templates/list");
  assert.match(JSON.stringify(resourceTemplates), "promptledger://{workspaceId}/{+name}?version={version}");
});

test("lists span the workspaces that a token may see, in pages", async () => {
  const world = await createWorld();
  const tenants = [world.workspaceId], deployments: string[] = [world.deployId];
  for (let count = 0; count < 24; count++) {
    world.now++;
    const { workspaceId, deployId } = await createTenant(world.admin, 10, `Tenant ${count}`);
    tenants.push(workspaceId);
    deployments.push(deployId);
  }
  const agent = createAgent(world);
  const all = async (method: string, member: string) => {
    const names: string[] = [];
    let cursor: unknown, pages = 0;
    do {
      const result = await agent.request(method, cursor === undefined ? {} : { cursor });
      names.push(...namesIn(result, member));
      cursor = result.nextCursor;
      assert.ok(++pages < 10);
    } while (cursor !== undefined);
    return { names, pages };
  };
  // Several workspaces have the reference, which therefore names none of the prompts.
  const { names, pages } = await all("prompts/list", "prompts");
  assert.equal([names.toSorted(), pages], [deployments.toSorted(), 2]);
  const { messages } = await agent.request("prompts/get", { name: names[0], arguments: { name: "Ada" } });
  assert.is((messages as object[]).length, 1);
  assert.equal(await all("resources/list", "resources"), { names: tenants.map(() => "greeting"), pages: 2 });
  const bound = createAgent(world, await makeToken(world, "viewer", world.workspaceId));
  assert.equal(namesIn(await bound.request("prompts/list"), "prompts"), ["greeting@production"]);
});

test("a workspace with many prompts is listed whole", async () => {
  const world = await createWorld();
  for (let count = 0; count < 60; count++) {
    await createPrompt(world.admin, world.workspaceId, toPrompt({ ...promptFile, name: `p${count}` }));
  }
  const agent = createAgent(world);
  const first = await agent.request("resources/list");
  const second = await agent.request("resources/list", { cursor: first.nextCursor });
  const names = [...namesIn(first, "resources"), ...namesIn(second, "resources")];
  assert.equal([names.length, new Set(names).size, second.nextCursor], [61, 61, undefined]);
});

test.run();
