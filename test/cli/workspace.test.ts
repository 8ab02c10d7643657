// Which workspace a command works on, and with which token.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { isToken } from "../../src/common/ids.ts";
import { adminToken, promptFile } from "../helpers.ts";
import { openPlaces, runIn, words } from "./places.ts";
import type { Data } from "./places.ts";

const test = suite("workspace of a command");

const { here, everywhere, url, DATABASE_URL } = await openPlaces(test);

const create = async (name: string) => (await here.data(words`workspace create --name ${name}`)).id! as string;

test("a database without a workspace says how to create one", async () => {
  const { code, said } = await here.cli(words`key list`);
  assert.equal([code, said], [1, "promptledger: There is no workspace yet. Create one with workspace create\n"]);
});

test("a command takes the only workspace, and a name is looked up in it", async () => {
  const id = await create("Acme");
  assert.is((await here.cli(words`key create`)).code, 0);
  const pushed = await here.cli(words`prompt push - --name a --deploy live`, JSON.stringify(promptFile));
  assert.is(pushed.code, 0, pushed.said);
  assert.equal((await here.data<Data[]>(words`prompt list --workspace ${id}`)).map(({ name }) => name), ["a"]);
});

everywhere(
  "of several workspaces one is named by --workspace, or by the variable, with its name or id",
  async (place) => {
    const beta = await create(`Beta ${place.name}`);
    const { code, said } = await place.cli(words`key list`);
    assert.is(code, 1);
    assert.match(
      said,
      "promptledger: There are several workspaces. Name one, or its id, with --workspace or in PROMPTLEDGER_WORKSPACE: Beta",
    );
    assert.match(said, /, Acme \(ws_\w+\)\n$/);
    await place.data(words`key create --name beta --workspace ${`Beta ${place.name}`}`);
    const namesIn = async (args: string[], env: Record<string, string> = {}) => {
      const { json, said } = await runIn([...args, "--json"], { DATABASE_URL, ...env });
      return (json as Data[] | undefined)?.map(({ name }) => name) ?? said;
    };
    assert.equal(await namesIn(words`key list --workspace ${beta}`), ["beta"]);
    for (const PROMPTLEDGER_WORKSPACE of [beta, `Beta ${place.name}`]) {
      assert.equal(await namesIn(words`key list`, { PROMPTLEDGER_WORKSPACE }), ["beta"]);
      assert.equal(await namesIn(words`key list --workspace Acme`, { PROMPTLEDGER_WORKSPACE }), [""]);
      const unknown = await namesIn(words`prompt versions a`, { PROMPTLEDGER_WORKSPACE });
      assert.is(unknown, "promptledger: Prompt a not found\n");
    }
    assert.is((await place.data(words`workspace show ${`Beta ${place.name}`}`)).id, beta);
  },
);

everywhere("a name that no workspace has, or that several have, is refused", async ({ cli, name }) => {
  const ids = [await create(`Twin ${name}`), await create(`Twin ${name}`)].reverse();
  const twins = await cli(words`usage --workspace ${`Twin ${name}`}`);
  const error = `Several workspaces are named Twin ${name}. Give the id: ${ids.join(", ")}`;
  assert.equal([twins.code, twins.said], [1, `promptledger: ${error}\n`]);
  for (const unknown of ["acme", "\ud800", "x".repeat(10_000), "a\0b"]) {
    const { code, out, said } = await cli(words`workspace show ${unknown}`);
    assert.equal([code, out], [1, ""]);
    assert.ok(said.endsWith(" not found. See workspace list\n"), said);
  }
  assert.is((await cli(words`key list --workspace ${" "}`)).code, 2);
});

test("a token for one workspace takes that one", async () => {
  const id = await create("Bound");
  const { token } = await here.data<{ token: string }>(words`token create --name ann --role admin --workspace Bound`);
  const ann = (...args: string[]) => runIn([...args, "--server", url], { PROMPTLEDGER_TOKEN: token, USER: "" });
  assert.is((await ann("key", "create", "--name", "own")).code, 0);
  const keys = await here.data<Data[]>(words`key list --workspace ${id}`);
  assert.equal(keys.map(({ name }) => name), ["own"]);
  const { said } = await ann("key", "list", "--workspace", "Acme");
  assert.is(said, "promptledger: Workspace Acme not found. See workspace list\n");
});

test("an owner's token is for no workspace, not even for that of the variable", async () => {
  const env = { DATABASE_URL, PROMPTLEDGER_WORKSPACE: "Acme" };
  const { code, said } = await runIn(words`token create --name x --role owner`, env);
  assert.is(code, 2);
  assert.match(said, "--role owner is for all workspaces: leave out --workspace and PROMPTLEDGER_WORKSPACE\n");
});

test("PROMPTLEDGER_TOKEN is the token of the command line, or else ADMIN_TOKEN", async () => {
  const codeWith = async (env: Record<string, string>) =>
    (await runIn(words`workspace list --server ${url}`, env)).code;
  assert.is(await codeWith({ PROMPTLEDGER_TOKEN: adminToken, ADMIN_TOKEN: "x" }), 0);
  assert.is(await codeWith({ PROMPTLEDGER_TOKEN: "", ADMIN_TOKEN: adminToken }), 0);
  const { said } = await runIn(words`workspace list --server ${url}`, {
    PROMPTLEDGER_TOKEN: "x",
    ADMIN_TOKEN: adminToken,
  });
  assert.is(said, "promptledger: PROMPTLEDGER_TOKEN must be at least 32 printable ASCII characters without spaces\n");
});

test("the audit log never has PROMPTLEDGER_TOKEN", async () => {
  const env = { DATABASE_URL, PROMPTLEDGER_TOKEN: "t".repeat(32) };
  await runIn(words`deploy deactivate a@live --note ${`with ${env.PROMPTLEDGER_TOKEN}`}`, env);
  const [entry] = await here.data<Data[]>(words`audit list --action deployment.deactivated`);
  assert.is(entry!.note, "with …");
});

test("token generate prints another token for ADMIN_TOKEN each time, and needs no database and no service", async () => {
  const env = { DATABASE_URL: "file:/no/such/ledger.db", PROMPTLEDGER_SERVER: "http://127.0.0.1:1" };
  const generate = async () => await runIn(words`token generate`, env);
  const [one, two] = [await generate(), await generate()];
  for (const { code, out } of [one, two]) {
    assert.is(code, 0);
    assert.match(out, /^[0-9A-Za-z]{43}\n$/);
    assert.not.ok(isToken(out.trim()));
  }
  assert.is.not(one.out, two.out);
  assert.match(one.said, "Start the service with it as ADMIN_TOKEN");
});

test.run();
