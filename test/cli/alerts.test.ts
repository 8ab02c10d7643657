// Alerts on the command line, on a local database and on a service.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openPlaces, words } from "./places.ts";

const test = suite("alerts on the command line");

const { everywhere } = await openPlaces(test);

everywhere("creates an alert, changes and mutes it, and shows what happened", async ({ cli, data, setUp }) => {
  const { workspaceId } = await setUp(), reference = "greeting@production";
  const scope = ["--workspace", workspaceId];
  const create = [...words`alert create --deploy ${reference} --when failures>5% --over 2h --at-least 10`, ...scope];
  const { id } = await data<{ id: string }>([...create, "--note", "Watch it"]);
  const silence = await cli([...words`alert create --when records<1 --over 5m --keep-firing 0s`, ...scope]);
  for (const line of [/^state +no data$/m, /^over +5m$/m, /^keepFiring +0s$/m]) assert.match(silence.out, line);
  assert.not.match(silence.out, "Ms ");
  const list = await cli([...words`alert list`, ...scope]);
  assert.match(list.out, /^state +condition +scope +over +value +records/);
  assert.match(list.out, `failures>5%  ${reference}`);
  assert.match(list.out, / +records<1 +workspace +5m +- +-/);
  const nothing = await cli(words`alert update ${id}`);
  assert.match(nothing.said, "Nothing to change: set --when, --over, --at-least or --keep-firing");
  await data(words`alert update ${id} --when p95>4s --keep-firing 10m`);
  await data(words`alert mute ${id} --for 3h`);
  const { out } = await cli(words`alert show ${id}`);
  for (const line of [/condition +p95>4s/, /over +2h/, /atLeast +10/, /keepFiring +10m/, /muteEndsAt +\d{4}-/]) {
    assert.match(out, line);
  }
  assert.match(out, / muted +[^\n]*\n[^\n]* updated +[^\n]*\n[^\n]* created +[^\n]* Watch it/);
  for (
    const [option, message] of [
      ["--over 1m", "--over must be between 5m and 1d, such as 15m or 2h"],
      ["--when failures>5", "The limit of failures>5 must be in %"],
      ["--when failures", "--when must be a measure, > or <, and a limit with its unit"],
    ] as const
  ) {
    const refused = await cli(words`alert update ${id} ${option.split(" ")[0]!} ${option.split(" ")[1]!}`);
    assert.ok(refused.code > 0 && refused.said.includes(message), refused.said);
  }
  await data(words`alert unmute ${id}`);
  await data(words`alert delete ${id}`);
  assert.match((await cli(words`alert show ${id}`)).said, "not found");
});

test.run();
