// Budgets on the command line, on a local database and on a service.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openPlaces, words } from "./places.ts";

const test = suite("budgets on the command line");

const { everywhere } = await openPlaces(test);

everywhere("creates, lists, changes and deletes a budget", async ({ cli, data, setUp }) => {
  const { workspaceId, keyId } = await setUp();
  const scope = ["--workspace", workspaceId];
  const { id, at } = await data<{ id: string; at: string }>([
    ...words`budget create --amount 2.50 --per day --at 100,80 --prompt greeting --key ${keyId}`,
    ...scope,
  ]);
  assert.is(at, "80,100");
  const list = await cli([...words`budget list`, ...scope]);
  assert.match(list.out, /^of +amount +spent +percent +period +at +unpriced/);
  assert.match(list.out, /greeting, key \S+ +2\.5 +0 +0 +\d{4}-\d\d-\d\d +80,100 +0/);
  assert.is((await data(words`budget update ${id} --amount 3`)).amount, "3");
  assert.is((await data(words`budget show ${id}`)).spent, "0");
  const none = await cli(words`budget update ${id}`);
  assert.equal([none.code, none.said.split("\n")[0]], [
    2,
    "promptledger: Nothing to change: set --amount or --at",
  ]);
  const wrong = await cli([...words`budget create --amount much --per day`, ...scope]);
  assert.equal([wrong.code, wrong.said.split("\n")[0]], [
    2,
    "promptledger: --amount must be an amount of USD such as 0.15",
  ]);
  await data(words`budget delete ${id}`);
  assert.equal(await data([...words`budget list`, ...scope]), []);
});

test.run();
