// More commands than in cli.test.ts, on a local database and on a service.
// Runs on Node alone.
import { readFile, writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { goodBody, promptFile } from "../helpers.ts";
import { toLines } from "../management/management.ts";
import { openPlaces, runIn, words } from "./places.ts";
import type { Data } from "./places.ts";

const test = suite("commands");

const { everywhere, folder, url, request, textOf } = await openPlaces(test);

const hour = 3_600_000;

everywhere("shows a workspace, a key and a deployment", async ({ cli, data, setUp }) => {
  const { workspaceId, keyId, deployId, key } = await setUp();
  const workspace = await data(words`workspace show ${workspaceId}`);
  assert.equal([workspace.id, workspace.name, workspace.monthlyLimit], [workspaceId, "Acme", 100]);
  const { out } = await cli(words`key show ${keyId} --json`);
  assert.is(JSON.parse(out).prefix, key.slice(0, 9));
  assert.not.ok(out.includes(key));
  const deployment = await data(words`deploy show ${deployId}`);
  assert.equal([deployment.id, deployment.revision, deployment.currentVersion], [deployId, 1, 1]);
});

everywhere("rotates a key: both secrets are valid for the overlap, and only the new one without", async (place) => {
  const { cli, setUp } = place;
  const { key, keyId, deployId } = await setUp();
  const status = async (secret: string) => (await request(secret, deployId)).status;
  const first = await cli(words`key rotate ${keyId} --overlap 12h --json`);
  const { key: second, id, overlapEndsAt } = first.json as { key: string; id: string; overlapEndsAt: number };
  assert.is(id, keyId);
  assert.ok(Math.abs(overlapEndsAt - Date.now() - 12 * hour) < hour);
  const until = new Date(overlapEndsAt).toISOString();
  assert.is(first.said, `Store the key now: it is not shown again. The old one is valid until ${until}\n`);
  assert.equal([await status(key), await status(second)], [200, 200]);
  const again = await cli(words`key rotate ${keyId} --expires 2999-01-31 --json`);
  assert.match(again.said, "It expires at 2999-01-31T00:00:00.000Z. The old one is refused from now on\n");
  const { key: third, expiresAt } = again.json as { key: string; expiresAt: number };
  assert.is(expiresAt, Date.UTC(2999, 0, 31));
  assert.equal([await status(second), await status(third)], [401, 200]);
});

everywhere("a secret stands in the same line, whether it is new or replaces another one", async ({ cli, setUp }) => {
  const { workspaceId, keyId } = await setUp();
  const scope = ["--workspace", workspaceId];
  const { id } = (await cli(words`token create --name t --role viewer ${scope} --json`)).json as { id: string };
  const webhook = (await cli(words`webhook create --url https://example.com/a ${scope} --json`)).json as { id: string };
  for (
    const [line, ...commands] of [
      [/^key +pl_/, words`key create ${scope}`, words`key rotate ${keyId}`],
      [/^token +plm_/, words`token create --name u --role viewer ${scope}`, words`token rotate ${id}`],
      [
        /^secret +whsec_/,
        words`webhook create --url https://example.com/b ${scope}`,
        words`webhook rotate ${webhook.id}`,
      ],
    ] as [RegExp, string[], string[]][]
  ) {
    for (const command of commands) assert.match((await cli(command)).out.split("\n")[2]!, line);
  }
});

everywhere("a token for one workspace prunes and verifies that one, and is told how", async ({ cli, data, setUp }) => {
  const { workspaceId } = await setUp();
  const { token } = await data<{ token: string }>(
    words`token create --name ann --role admin --workspace ${workspaceId}`,
  );
  const ann = (args: string[]) => runIn([...args, "--server", url], { ADMIN_TOKEN: token, USER: "" });
  for (const command of [words`prune --older-than 90d`, words`verify`]) {
    const { code, said } = await ann(command);
    const expected = "promptledger: This token is for one workspace: for that one alone, use --workspace\n";
    assert.equal([code, said], [1, expected]);
    assert.is((await ann([...command, "--workspace", workspaceId])).code, 0);
  }
  // Without --server a command may do everything.
  assert.is((await cli(words`verify`)).code, 0);
});

everywhere("rolls a version out to some, and says what each step does", async ({ cli, data, setUp }) => {
  const { deployId, promptId, workspaceId } = await setUp();
  const second = JSON.stringify({ ...promptFile, title: "Second" });
  await data(words`prompt push - --prompt ${promptId} --workspace ${workspaceId}`, second);
  const started = await cli(words`deploy rollout ${deployId} --version 2 --percent 12.5 --note Warmer --json`);
  const reference = (started.json as Data).reference;
  const shares = `${reference} serves version 2 to 12.5 % and version 1 to the others`;
  assert.is(started.said, `${shares} from now on\n`);
  assert.equal((started.json as { rollout: Data }).rollout.percent, 12.5);
  assert.is((await cli(words`deploy rollout ${deployId} --percent 12.5`)).said, `Nothing to change: ${shares}\n`);
  assert.match((await cli(words`deploy show ${deployId}`)).out, /^rollout +2 at 12\.5 %$/m);
  assert.match((await cli(words`deploy list --workspace ${workspaceId}`)).out, / rollout .*\n.* 2 at 12\.5 % /);
  const guarded = await data<{ rollout: Data }>(words`deploy rollout ${deployId} --guard failures=+2% --certain 95`);
  assert.equal([guarded.rollout.percent, guarded.rollout.guard, guarded.rollout.certain], [12.5, "failures=+2%", 95]);
  assert.match(
    (await cli(words`deploy show ${deployId}`)).out,
    /^rollout +2 at 12\.5 %, guarded by failures=\+2% at 95 %$/m,
  );
  assert.is((await data<{ rollout: Data }>(words`deploy rollout ${deployId} --no-guard`)).rollout.guard, null);
  await data(words`deploy rollout ${deployId} --percent 50`);
  const stopped = await cli(words`deploy rollout ${deployId} --stop`);
  assert.is(stopped.said, `${reference} serves version 1 to all from now on\n`);
  const none = `Nothing to change: ${reference} serves version 1 to all: no rollout is in progress\n`;
  assert.is((await cli(words`deploy rollout ${deployId} --stop`)).said, none);
  await data(words`deploy rollout ${deployId} --version 2 --percent 100`);
  const promoted = await cli(words`deploy promote ${deployId} --version 2`);
  const completed = `${reference} serves version 2 from now on, which completes the rollout of version 2 (before: 1)\n`;
  assert.is(promoted.said, completed);
  const rollouts = await data<Data[]>(words`deploy rollout ${deployId} --list`);
  assert.equal(rollouts.map(({ percent, outcome, note }) => [percent, outcome, note]), [
    [100, "promoted", ""],
    [50, "stopped", "Warmer"],
  ]);
  const actions = (await data<Data[]>(words`deploy history ${deployId}`)).map(({ action }) => action);
  assert.equal(actions.slice(0, 3), ["promoted", "rollout_started", "rollout_stopped"]);
  for (
    const options of [
      ...[words``, words`--stop --percent 5`, words`--version 2`, words`--percent 0`, words`--percent x`],
      ...[words`--guard x`, words`--guard failures=+2% --no-guard`, words`--no-guard --stop`, words`--certain 5`],
      words`--no-guard --certain 95`,
    ]
  ) {
    assert.is((await cli(words`deploy rollout ${deployId} ${options}`)).code, 2, String(options));
  }
  const both = await cli(words`deploy rollout ${deployId} --stop --percent 5`);
  assert.match(both.said, "A change of the rollout, --stop and --list exclude each other");
});

everywhere("a token authenticates, and its role cannot change a protected deployment", async ({ cli, data, setUp }) => {
  const { workspaceId, deployId } = await setUp();
  const made = await cli(words`token create --name ann --role editor --workspace ${workspaceId} --json`);
  assert.is(made.said, "Store the token now: it is not shown again\n");
  const { id, token } = made.json as { id: string; token: string };
  const { out } = await cli(words`token list`, "", { columns: 80 });
  assert.ok(out.includes(token.slice(0, 10)) && !out.includes(token));
  const ann = (args: string[]) => runIn([...args, "--server", url], { ADMIN_TOKEN: token, USER: "eve" });
  await cli(words`deploy deactivate ${deployId}`);
  const promote = words`deploy promote ${deployId} --version 1`;
  assert.is((await ann(promote)).code, 0);
  const protect = await cli(words`deploy protect ${deployId}`);
  assert.is(protect.said, "From now on it is protected: changing it requires the role publisher\n");
  assert.is((await data(words`deploy show ${deployId}`)).isProtected, true);
  const refused = await ann(promote);
  assert.equal([refused.code, refused.said], [
    1,
    "promptledger: This needs the role publisher to change greeting@production, which is protected\n",
  ]);
  await cli(words`deploy unprotect ${deployId}`);
  assert.is((await ann(promote)).code, 0);
  const rotated = await data(words`token rotate ${id}`);
  assert.match((await ann(promote)).said, "Invalid admin token");
  assert.is(rotated.name, "ann");
  assert.is.not((await data(words`token revoke ${id}`)).revokedAt, null);
  assert.is((await data(words`token show ${id}`)).role, "editor");
});

test("help shows a default as one would write it", async () => {
  assert.match((await runIn(words`webhook rotate --help`, {})).out, "Default: 1d");
  assert.match((await runIn(words`key rotate --help`, {})).out, "Default: 0");
});

test("help shows the role that a command requires on a service", async () => {
  const { out } = await runIn(words`verify --help`, {});
  assert.match(out, "(viewer, owner for all workspaces)");
  const { out: promote } = await runIn(words`deploy promote --help`, {});
  assert.match(promote, "(editor, publisher on a protected deployment)");
});

everywhere("lists keys with their state and their last use, even on a narrow terminal", async ({ cli, setUp }) => {
  const { workspaceId, keyId, key, deployId } = await setUp();
  await request(key, deployId);
  const scope = ["--workspace", workspaceId];
  await cli(words`key revoke ${keyId}`);
  await cli(words`key create ${scope} --name old --expires 30d`);
  await cli(words`key create ${scope} --name new --expires 90d`);
  const { now } = Date;
  Date.now = () => now() + 60 * 86_400_000;
  const { out } = await cli(words`key list ${scope}`, "", { columns: 80 }).finally(() => void (Date.now = now));
  const lines = out.split("\n").filter((line) => /^\S/.test(line)).map((line) => line.split(/ {2,}/));
  const states = lines.map(([name, , state]) => [name, state]);
  assert.equal(states, [["name", "state"], ["new", "valid"], ["old", "expired"], ["test", "revoked"]]);
  const used = (await cli(words`key list ${scope}`, "", { columns: 80 })).out.split("\n").find((line) =>
    line.startsWith("test")
  )!;
  assert.match(used, /\d\d-\d\dT\d\d:\d\dZ/);
});

everywhere("lists show which prompt a deployment serves, and where a prompt is live", async (place) => {
  const { cli, data, setUp } = place;
  const { workspaceId, promptId, deployId } = await setUp();
  const scope = ["--workspace", workspaceId];
  const second = await data<{ deployment: { id: string } }>(
    words`prompt push - ${scope} --prompt ${promptId} --deploy staging`,
    JSON.stringify({ ...promptFile, title: "Two" }),
  );
  await data(words`deploy deactivate ${second.deployment.id}`);
  await data(words`prompt push - ${scope} --name x --new`, JSON.stringify({ ...promptFile, title: "Nowhere" }));
  const deployments = (await cli(words`deploy list ${scope}`)).out.split("\n").map((line) => line.split(/ {2,}/));
  assert.equal(deployments[0]!.slice(0, 4), ["reference", "version", "active", "title"]);
  assert.equal(deployments[1]!.slice(0, 4), ["greeting@staging", "2", "no", "Two"]);
  assert.equal(deployments[2]!.slice(0, 4), ["greeting@production", "1", "yes", "Two"]);
  const prompts = (await cli(words`prompt list ${scope}`)).out.split("\n").map((line) => line.split(/ {2,}/));
  assert.equal(prompts[0]!.slice(0, 4), ["name", "version", "live", "title"]);
  assert.equal(prompts[1]!.slice(0, 4), ["x", "1", "-", "Nowhere"]);
  assert.equal(prompts[2]!.slice(0, 4), ["greeting", "2", "staging 2 (inactive), production 1", "Two"]);
  const [staging, production] = await data<Record<string, unknown>[]>(words`deploy list ${scope}`);
  assert.equal([staging!.promptTitle, production!.id, production!.promptTitle], ["Two", deployId, "Two"]);
  const ofPrompt = (ref: string) => data<Record<string, unknown>[]>(words`deploy list ${scope} --prompt ${ref}`);
  assert.equal([await ofPrompt("greeting"), await ofPrompt("x")], [[staging, production], []]);
  const [nowhere, two] = await data<Record<string, unknown>[]>(words`prompt list ${scope}`);
  assert.equal(nowhere!.deployments, []);
  assert.equal(two!.deployments, [
    { id: second.deployment.id, name: "staging", reference: "greeting@staging", currentVersion: 2, isActive: false },
    { id: deployId, name: "production", reference: "greeting@production", currentVersion: 1, isActive: true },
  ]);
});

everywhere("push shows the ids that an application needs", async ({ cli, data }) => {
  const { id } = await data(words`workspace create --name Ids`);
  const push = words`prompt push - --workspace ${id!} --name support/ids`;
  const live = await cli([...push, "--deploy", "live"], JSON.stringify(promptFile));
  const [{ id: promptId, deployments } = {} as Data] = await data<Data[]>(words`prompt list --workspace ${id!}`);
  const [{ id: deployId }] = deployments as unknown as [Data];
  assert.is(
    live.out,
    `deployId    ${deployId}
deployment  support/ids@live
promptId    ${promptId}
name        support/ids
version     1
title       Greeting
variables   name
`,
  );
  const alone = await cli(push, JSON.stringify(promptFile));
  assert.match(
    alone.out,
    /^promptId {3}prompt_\w+\nname {7}support\/ids\nversion {4}1\ntitle {6}Greeting\nvariables {2}name\n$/,
  );
});

everywhere("keeps the note and the actor of a change", async ({ cli, data, setUp }) => {
  const { workspaceId, promptId, deployId } = await setUp();
  const push = words`prompt push - --workspace ${workspaceId} --prompt ${promptId} --note shorter`;
  const pushed = await data(push, JSON.stringify({ ...promptFile, title: "Two" }));
  assert.is(pushed.note, "shorter");
  await data(words`deploy promote ${deployId} --version 2 --note ${"try it"} --actor Ann`);
  const back = await cli(words`deploy rollback ${deployId} --note worse --actor Bob --json`);
  assert.equal([back.code, (back.json as Data).currentVersion], [0, 1]);
  const renamed = await data(words`deploy rename ${deployId} --name live --actor Ann`);
  assert.equal([renamed.name, renamed.revision], ["live", 4]);
  const history = await data<Data[]>(words`deploy history ${deployId}`);
  assert.equal(history.map(({ action, from, to, actor, note }) => [action, from, to, actor, note]), [
    ["renamed", "production", "live", "Ann", ""],
    ["rolled_back", 2, 1, "Bob", "worse"],
    ["promoted", 1, 2, "Ann", "try it"],
    ["created", null, 1, "", ""],
  ]);
  const none = await cli(words`deploy rollback ${(await setUp()).deployId}`);
  assert.is(none.code, 1);
  assert.match(none.said, "greeting@production has nothing before version 1 to go back to\n");
  const { said } = await cli(words`deploy rollback ${deployId}`);
  assert.match(said, "to go back to. It has also served 2. To make one of them live, use --to-version\n");
});

everywhere("history marks the targets of a rollback, and --to-version goes to them", async ({ cli, data, setUp }) => {
  const { workspaceId, promptId, deployId } = await setUp();
  const push = words`prompt push - --workspace ${workspaceId} --prompt ${promptId} --deploy production`;
  for (const title of ["Two", "Three", "Four"]) await data(push, JSON.stringify({ ...promptFile, title }));
  await data(words`deploy rollback ${deployId}`);
  const marks = async () => {
    const { out } = await cli(words`deploy history ${deployId}`);
    const lines = out.trimEnd().split("\n").map((line) => line.split(/ {2,}/));
    assert.equal(lines[0]!.slice(0, 5), ["revision", "action", "from", "to", "roll back to it"]);
    return lines.slice(1).map(([, action, , to, mark]) => `${action} ${to} ${mark}`);
  };
  assert.equal(await marks(), [
    "rolled_back 3 is live",
    "promoted 4 with --to-version 4",
    "promoted 3 -",
    "promoted 2 by default",
    "created 1 with --to-version 1",
  ]);
  assert.is((await data(words`deploy rollback ${deployId} --to-version 4`)).currentVersion, 4);
  const history = await data<Data[]>(words`deploy history ${deployId}`);
  assert.equal(history.map(({ canRollBackTo }) => canRollBackTo), [false, true, false, true, true, true]);
});

everywhere("shows a version for people, and --render fills in its variables", async ({ cli, data, setUp }) => {
  const { promptId } = await setUp();
  const { out } = await cli(words`prompt show ${promptId}`);
  assert.match(out, /^variables +name$/m);
  assert.match(out, "title: Greeting\ndescription: Says hello\n--- system\nGreet {{name}}\n--- llmConfig\n");
  const fill = words`prompt show ${promptId} --version 1 --render ${"name=Ann=\u001b[31mB"} --render nme=x`;
  const filled = await cli(fill);
  assert.equal([filled.code, filled.said], [0, "Not in the prompt: nme\n"]);
  assert.match(filled.out, "--- system\nGreet Ann=\\u001b[31mB\n");
  const { messages, ...version } = await data<Record<string, unknown>>(fill);
  assert.equal(messages, [{ role: "system", content: "Greet Ann=\u001b[31mB" }]);
  assert.equal(version, { id: promptId, version: 1 });
  const missing = await cli(words`prompt show ${promptId} --render nme=x`);
  assert.equal([missing.code, missing.out], [1, ""]);
  assert.is(missing.said, "promptledger: Variables without a value: name\n");
});

everywhere("shows what differs between versions", async ({ cli, data, setUp }) => {
  const { workspaceId, promptId } = await setUp();
  const push = words`prompt push - --workspace ${workspaceId} --prompt ${promptId}`;
  await data(push, JSON.stringify({ ...promptFile, description: "-- \u009b31m" }));
  const diff = words`prompt diff ${promptId} --from 1`;
  const { out } = await cli(diff);
  assert.match(out, "--- version 1\n+++ version 2\n@@ -1,");
  assert.match(out, "\n-description: Says hello\n+description: -- \\u009b31m\n");
  assert.equal(await data<unknown>(diff), { id: promptId, from: 1, to: 2, diff: out });
  const coloured = await cli(diff, "", { isColoured: true });
  assert.match(coloured.out, "\u001b[1m--- version 1\u001b[m\n");
  assert.match(coloured.out, "\u001b[31m-description: Says hello\u001b[m\n");
  assert.match(coloured.out, "\u001b[32m+description: ");
  const same = await cli([...diff, "--to", "1"], "", { isColoured: true });
  assert.equal([same.code, same.out, same.said], [0, "", "Nothing differs between versions 1 and 1\n"]);
});

const submit = (key: string, deployId: string, more: object) =>
  request(key, deployId, JSON.stringify({ ...goodBody, ...more }));

everywhere("lists, exports and counts the records of all deployments of a workspace", async ({ cli, data, setUp }) => {
  const { key, workspaceId, deployId, promptId } = await setUp();
  const { id } = await data(words`deploy create --workspace ${workspaceId} --prompt ${promptId} --name twin`);
  await submit(key, deployId, { sessionId: "Order-1", cost: 0.5, model: "a\nb" });
  await submit(key, id!, { sessionId: "order-2" });
  const ofAll = words`--workspace ${workspaceId}`;
  const { out } = await cli(["diagnosis", "list", ...ofAll]);
  assert.match(out, /^createdAt +status +deployment .*\n.* greeting@twin .*\n.* greeting@production .*\n$/);
  assert.is((await data<Data[]>(["diagnosis", "list", ...ofAll, "--deploy", "greeting@twin"])).length, 1);
  assert.is((await cli(["diagnosis", "export", ...ofAll])).out.trimEnd().split("\n").length, 2);
  const stats = await cli(["stats", ...ofAll, "--interval", "day"]);
  assert.match(stats.out, /^all deployments: 2 records, /m);
  assert.match(stats.out, /^greeting@production +1 +0\.0 % +- +\$0\.50$/m);
  assert.match(stats.out, /^records +█ +max 2$/m);
  const sessions = await data<Data[]>([
    "session",
    "list",
    ...ofAll,
    "--session-contains",
    "ORDER",
    "--deploy",
    deployId,
  ]);
  assert.equal(sessions.map(({ sessionId }) => sessionId), ["Order-1"]);
  const usage = await cli(["usage", ...ofAll]);
  assert.match(usage.out, /^by model +cost +records\na b +\$0\.50 +1\ngpt-4o +- +1 +1 without a price$/m);
  assert.match(usage.out, /^greeting@twin:1 +- +1 +1 without a price$/m);
  for (const command of ["diagnosis list", "diagnosis export", "stats"]) {
    const { code, said } = await cli(command.split(" "));
    assert.is(code, 1);
    assert.match(said, "promptledger: There are several workspaces. Name one, or its id, with --workspace");
  }
});

everywhere("lists records by version, time and text", async ({ data, setUp }) => {
  const { key, deployId } = await setUp();
  for (const output of ["one", "two", "Twofold"]) await submit(key, deployId, { content: { output } });
  const list = (...options: string[]) => data<Data[]>(words`record list --deploy ${deployId} ${options}`);
  const outputs = (listed: Data[]) => listed.map(({ content }) => (content as unknown as { output: string }).output);
  assert.equal(outputs(await list("--text", "two")), ["Twofold", "two"]);
  assert.equal(outputs(await list("--from", "1h")), ["Twofold", "two", "one"]);
  assert.equal(outputs(await list("--to", "1h")), []);
  assert.equal(outputs(await list("--from", new Date(Date.now() - hour).toISOString(), "--version", "1")).length, 3);
  assert.equal(outputs(await list("--version", "2")), []);
});

everywhere(
  "shows a record and the totals of a session, and deletes a record or those of a session",
  async ({ cli, data, setUp }) => {
    const { key, deployId, workspaceId } = await setUp();
    for (const sessionId of ["a", "b", "b"]) {
      await submit(key, deployId, { sessionId, additional_properties: { n: 1 } });
    }
    const list = () => data<Data[]>(words`record list --deploy ${deployId}`);
    const totals = await data<{ sessionId: string; records: number }[]>(
      words`session list --workspace ${workspaceId} --session b`,
    );
    assert.equal(totals.map(({ sessionId, records }) => [sessionId, records]), [["b", 2]]);
    const [{ id } = {} as Data] = (await list()).slice(-1);
    const record = await data(words`record show ${id!}`);
    assert.equal([record.id, record.sessionId, record.additional_properties], [id, "a", { n: 1 }]);
    assert.equal(await data<unknown>(words`record delete ${id!}`), { deleted: 1 });
    const again = await cli(words`record delete ${id!} --json`);
    assert.equal([again.code, again.json, again.said], [0, { deleted: 0 }, "Nothing to delete\n"]);
    const gone = await cli(words`record show ${id!}`);
    assert.equal([gone.code, gone.said], [1, `promptledger: Record ${id} was deleted\n`]);
    const session = words`record delete --deploy ${deployId} --session b`;
    assert.equal(await data<unknown>(session), { deleted: 2 });
    assert.equal(await list(), []);
    assert.is((await cli(words`verify --workspace ${workspaceId}`)).code, 0);
  },
);

everywhere("shows the messages of a record as a conversation, and other texts as they are", async (place) => {
  const { cli, setUp, data } = place;
  const { key, deployId } = await setUp();
  const call = { id: "call_1", n: 1.5 };
  const messages = [
    { role: "system", content: "You help.\nBriefly." },
    { role: "user", content: "--- user\n\u001b[31mHi" },
    { role: "assistant", content: null, tool_calls: [call] },
  ];
  const show = async (content: object) => {
    await submit(key, deployId, { content, additional_properties: { trace_id: "t" } });
    const [{ id } = {} as Data] = await data<Data[]>(words`record list --deploy ${deployId} --limit 1`);
    return (await cli(words`record show ${id!}`)).out;
  };
  const shown = await show({ input: JSON.stringify(messages), output: "Hello!\n\nBye.", score: 12 });
  assert.match(shown, /^id +diag_\w+\n/);
  assert.match(shown, /^additional_properties +\{"trace_id":"t"\}$/m);
  assert.match(shown, /^content +\{"score":12\}$/m);
  assert.is(
    shown.slice(shown.indexOf("\ninput\n")),
    `
input
  --- system
  You help.
  Briefly.
  --- user
  \\--- user
  \\u001b[31mHi
  --- assistant
  null
  --- with
  {
    "tool_calls": [
      {
        "id": "call_1",
        "n": 1.5
      }
    ]
  }

output
  Hello!

  Bye.
`,
  );
  const message = await show({ output: '{"role":"assistant","content":"One"}' });
  assert.ok(message.endsWith("\noutput\n  --- assistant\n  One\n") && !message.includes("content "), message);
  const request = await show({ input: JSON.stringify({ model: "m", messages: messages.slice(0, 1) }) });
  assert.ok(
    request.endsWith('\ninput\n  --- system\n  You help.\n  Briefly.\n  --- with\n  {\n    "model": "m"\n  }\n'),
    request,
  );
  for (const input of ["[]", "[1]", '[{"a":1}]', "[1", "null", "", '{"messages":1}']) {
    const text = await show({ input });
    assert.ok(text.endsWith(`\ninput\n  ${input}\n`.replace("  \n", "\n")), text);
  }
});

everywhere("exports records as lines of JSON or as CSV, to stdout or a file", async ({ cli, setUp }) => {
  const { key, deployId } = await setUp();
  for (const output of ['say "hi"\r\nthere', "שלום 👋", "x"]) await submit(key, deployId, { content: { output } });
  const command = words`record export --deploy ${deployId}`;
  const lines = await cli(command);
  assert.equal([lines.code, lines.said], [0, "Exported 3 records\n"]);
  const outputs = lines.out.trimEnd().split("\n").map((line) => JSON.parse(line).content.output);
  assert.equal(outputs, ["x", "שלום 👋", 'say "hi"\r\nthere']);
  assert.ok(lines.reports.includes("Exported 3 records"));
  const path = `${folder}/${deployId}.csv`;
  await writeFile(path, "old");
  const toFile = [...command, "--format", "csv", "--out", path, "--json"];
  const refused = await cli(toFile);
  assert.equal([refused.code, refused.said], [1, `promptledger: ${path} already exists; use --force to replace it\n`]);
  assert.is(await textOf(`${deployId}.csv`), "old");
  const file = await cli([...toFile, "--force"]);
  assert.equal(file.json, { file: path, format: "csv", records: 3 });
  const csv = await textOf(`${deployId}.csv`);
  assert.ok(csv.startsWith("id,createdAt,") && csv.includes(',"say ""hi""\r\nthere",'), csv);
  assert.is((await cli([...command, "--format", "csv"])).out, csv);
  const cases = await cli([...command, "--format", "promptfoo"]);
  assert.equal(cases.out.trimEnd().split("\n").map((line) => JSON.parse(line).vars.reference), outputs);
  const tests = await cli([...command, "--format", "promptfoo", "--out", `${folder}/${deployId}.jsonl`, "--json"]);
  assert.equal(tests.json, { file: `${folder}/${deployId}.jsonl`, format: "promptfoo", records: 3 });
  const none = await cli([...command, "--session", "none"]);
  assert.equal([none.out, none.said], ["", "Exported 0 records\n"]);
});

everywhere("exits 1 if the deployment or the folder of an export does not exist", async ({ cli, setUp }) => {
  const unknown = await cli(words`record export --deploy dep_0`);
  assert.equal([unknown.code, unknown.said], [1, "promptledger: Deployment dep_0 not found\n"]);
  const { deployId } = await setUp();
  const nowhere = await cli(words`record export --deploy ${deployId} --out ${folder}/no/such.ndjson`);
  assert.is(nowhere.code, 1);
  assert.match(nowhere.said, /^promptledger: .*no\/such\.ndjson cannot be written: /);
});

everywhere("lists calls by key, deployment, operation and time", async ({ data, setUp }) => {
  const { key, keyId, deployId, workspaceId } = await setUp();
  await request(key, deployId);
  await submit(key, deployId, {});
  const list = async (...options: string[]) =>
    (await data<Data[]>(words`call list --workspace ${workspaceId} ${options}`)).map(({ operation }) => operation);
  assert.equal(await list("--key", keyId, "--deploy", deployId, "--version", "1", "--from", "1h"), ["submit", "read"]);
  assert.equal(await list("--operation", "read"), ["read"]);
  assert.equal(await list("--key", "key_0"), []);
});

everywhere("shows the usage of a workspace by month, and of a month by day", async ({ cli, data, setUp }) => {
  const { key, deployId, workspaceId } = await setUp();
  await request(key, deployId);
  const month = new Date().toISOString().slice(0, 7);
  const months = await data<unknown>(words`usage months --workspace ${workspaceId}`);
  assert.equal(months, [{ month, used: 1, reads: 1, submits: 0 }]);
  const { out } = await cli(words`usage --workspace ${workspaceId}`);
  assert.match(out, /^used +1$/m);
  assert.match(out, /^20\d\d-\d\d-\d\d +1 +0 {2}█{20}$/m);
  const past = await cli(words`usage --workspace ${workspaceId} --month 1999-01`);
  assert.match(past.out, /^limit now +100$/m);
  assert.not.match(past.out, /^limit {2}|^remaining/m);
});

everywhere("shows statistics of records", async ({ cli, data, setUp }) => {
  const { key, deployId } = await setUp();
  const tokens = { prompt_tokens: 10, completion_tokens: 3 };
  await submit(key, deployId, { status: 1, latency: 100, additional_properties: { token_usage: tokens } });
  await submit(key, deployId, { status: -3 });
  const stats = await data<{ records: number; versions: Data[] }>(words`stats --deploy ${deployId} --from 1h`);
  assert.equal([stats.records, stats.versions.length], [2, 1]);
  const { out } = await cli(words`stats --deploy ${deployId} --version 1`);
  assert.match(
    out,
    "version 1: 2 records, 0.0 % failed (95 % interval 0.0 % to 65.8 %)\n  status  records   share\n  -3            1  50.0 %  ██████████\n  1 ok ",
  );
  assert.match(
    out,
    "latency (1 record): p50 100 ms, p95 100 ms, p99 100 ms, mean 100 ms\n  tokens (1 record): 10 prompt, 3 completion, 0 cached, mean 13\n",
  );
  assert.is((await cli(words`stats --deploy ${deployId} --version 2`)).said, "No records\n");
  const { code, said } = await cli(words`stats --deploy ${deployId} --from 2026-11-23 --to 2026-11-20`);
  assert.is(code, 2);
  assert.match(said, "promptledger: --from must be no later than --to\n");
});

everywhere("prunes until it is done", async ({ cli, data, setUp }) => {
  const { key, deployId, workspaceId } = await setUp();
  await submit(key, deployId, {});
  assert.equal(await data<unknown>(words`prune --older-than 90d`), { calls: 0, records: 0 });
  assert.is((await data<Data[]>(words`record list --deploy ${deployId}`)).length, 1);
  const recent = await cli(words`prune --older-than 1h`);
  assert.is(recent.code, 2);
  assert.is((await cli(words`verify --workspace ${workspaceId}`)).code, 0);
});

everywhere(
  "checks the prompt in a file before a request, and names its fields as they are there",
  async ({ cli, data }) => {
    const { id } = await data(words`workspace create --name Files`);
    const push = words`prompt push - --workspace ${id!}`;
    const long = await cli(push, JSON.stringify({ ...promptFile, description: "x".repeat(1024 * 1024) }));
    assert.equal([long.code, long.said], [1, "promptledger: Standard input must be at most 1048576 characters\n"]);
    const field = await cli([...push, "--deploy", "live"], JSON.stringify({ ...promptFile, title: "" }));
    assert.match(field.said, "Field title must be a name of 1 to 200 characters");
    assert.equal(await data<unknown>(words`prompt list --workspace ${id!}`), []);
  },
);

everywhere("audit list says what changed from what to what, and audit export writes it to a file", async (place) => {
  const { id } = await place.data(words`workspace create --name Audited`);
  await place.data(words`workspace update ${id!} --limit 20 --keep-records 90d`);
  const scope = ["--workspace", id!];
  const { out } = await place.cli(words`audit list ${scope}`);
  assert.match(out, /workspace\.updated +monthlyLimit 1000000 → 20, keepRecords - → 90d /);
  assert.match(out, /workspace\.created +Audited /);
  const listed = await place.data<Data[]>(words`audit list ${scope}`);
  assert.equal(listed.map(({ action }) => action), ["workspace.updated", "workspace.created"]);
  const file = `${folder}/${id}.ndjson`;
  assert.equal(await place.data(words`audit export ${scope} --out ${file}`), { file, format: "ndjson", entries: 2 });
  const stored = JSON.parse(JSON.stringify(listed), (name, value) => name.endsWith("AtIso") ? undefined : value);
  assert.equal(toLines(await readFile(file, "utf8")), stored);
});

everywhere("events lists what has changed, and goes on with what changes from now on", async (place) => {
  const { workspaceId, deployId } = await place.setUp();
  const scope = ["--workspace", workspaceId];
  const { out, said } = await place.cli(words`events ${scope} --types deployment.*`);
  assert.match(out, /deployment\.created +greeting@production +v1 /);
  const all = await place.data<Data[]>(words`events ${scope}`);
  assert.equal(await place.data<Data[]>(words`events ${scope} --limit 2`), all.slice(0, 2));
  const next = /--after (\d+)/.exec(said)![1]!;
  const seen: string[] = [];
  const following = place.cli(words`events ${scope} --follow --json --after ${next}`, "", {
    write: (text) => Promise.resolve(seen.push(text) < 2),
  });
  await place.data(words`deploy deactivate ${deployId} --note Night`);
  await place.data(words`deploy activate ${deployId}`);
  assert.is((await following).code, 0);
  const [first, second] = toLines<Record<string, unknown>>(seen.join(""));
  assert.equal([first!.type, first!.note, second!.type], ["deployment.deactivated", "Night", "deployment.activated"]);
  assert.is((await place.cli(words`events --follow --limit 3`)).code, 2);
});

everywhere("--json has each time in ISO 8601 too, and leaves alone what clients sent", async (place) => {
  const { key, deployId, workspaceId } = await place.setUp();
  const sent = { startedAt: 5, at: null, nested: [{ createdAt: 7 }] };
  await submit(key, deployId, { additional_properties: sent });
  const [record] = await place.data<Data[]>(words`record list --deploy ${deployId}`);
  assert.equal(record!.additional_properties, sent);
  assert.is(record!.createdAtIso, new Date(record!.createdAt!).toISOString());
  const [listed] = await place.data<Data[]>(words`key list --workspace ${workspaceId}`);
  assert.equal([listed!.expiresAt, listed!.expiresAtIso], [null, null]);
});

everywhere("prompt push --json says whether it created a version", async (place) => {
  const { workspaceId } = await place.setUp();
  const push = async () =>
    (await place.data(words`prompt push - --workspace ${workspaceId} --name j --new`, JSON.stringify(promptFile)))
      .isNewVersion;
  assert.equal([await push(), await push()], [true, false]);
});

everywhere("verify says whether the audit log is intact, and its head", async (place) => {
  await place.data(words`workspace create --name Verified`);
  const { audit } = await place.data<{ audit: { entries: number; head: string } }>(["verify"]);
  const { out, said } = await place.cli(["verify"]);
  assert.match(out, `audit       intact, ${audit.entries} entries, head ${audit.head}\n`);
  assert.match(said, `Audit log: intact, ${audit.entries} entries`);
});

test.run();
