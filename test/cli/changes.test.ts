// Change requests on the command line: who requests and approves, by the table of approvals, and what people see of them.
// Runs on Node alone.
import * as assert from "uvu/assert";
import { approvals, people } from "../management/approval-table.ts";
import type { Person } from "../management/approval-table.ts";
import { adminToken } from "../helpers.ts";
import { isFull, suite } from "../suite.ts";
import { openPlaces, runIn, words } from "./places.ts";
import type { Data, Result } from "./places.ts";

const test = suite("change requests on the command line");

const { everywhere, here, url } = await openPlaces(test);

/** The token of each person, for the service. */
async function makeTokens(): Promise<Record<Person, string>> {
  const tokens = Object.entries(people).map(async ([name, [role, owner]]) => {
    const { json } = await here.cli([
      ...words`token create --name ${name} --role ${role} --json`,
      ...owner === undefined ? [] : ["--owner", owner],
    ]);
    return [name, (json as { token: string }).token] as const;
  });
  return {
    ...Object.fromEntries(await Promise.all(tokens)) as Record<keyof typeof people, string>,
    operator: adminToken,
  };
}

/** Runs a command on the service as a person. */
const as = (tokens: Record<Person, string>, person: Person, args: string[]): Promise<Result> =>
  runIn(args, { PROMPTLEDGER_SERVER: url, PROMPTLEDGER_TOKEN: tokens[person] });

/** A deployment of two versions that needs an approval. */
async function setUpGuarded({ data, setUp }: Pick<typeof here, "data" | "setUp">) {
  const setup = await setUp();
  const { workspaceId, deployId } = setup;
  const file = JSON.stringify({ title: "Second", messages: [{ role: "system", content: "Salute {{name}}" }] });
  const { promptId } = setup;
  const pushed = await here.cli(words`prompt push - --prompt ${promptId} --workspace ${workspaceId}`, file);
  assert.is(pushed.code, 0, pushed.said);
  const protectedOne = await data(words`deploy protect ${deployId} --approvals 1`);
  assert.equal([protectedOne.isProtected, protectedOne.approvals], [true, 1]);
  return setup;
}

everywhere("a change is requested and not made, and the command exits 3", async ({ cli, data, setUp }) => {
  const { deployId } = await setUpGuarded({ data, setUp });
  const asked = await cli(words`deploy promote ${deployId} --version 2 --note Warmer --json`);
  const { changed, currentVersion, request } = asked.json as Data & { request: { id: string; note: string } };
  assert.equal([asked.code, changed, currentVersion, request.note], [3, false, 1, "Warmer"]);
  const { id } = request;
  const again = await cli(words`deploy promote ${deployId} --version 2`);
  assert.equal([again.code, again.out], [3, ""]);
  assert.is(
    again.said,
    `Nothing has changed yet. greeting@production: version 1 → version 2 waits for an approval: see change show ${id}\n`,
  );
  const shown = await cli(words`change show ${id}`);
  assert.match(shown.out, /\nchange +version 1 → version 2\n/);
  assert.match(shown.out, /\n-.*Greet \{\{name\}\}\n\+.*Salute \{\{name\}\}/);
  const list = await cli(words`change list --deploy ${deployId}`);
  assert.match(list.out, /^createdAt +reference +change +state +by +note +id\n.*version 1 → version 2 +open/);
  // Whoever has the database or the admin token is one person.
  const own = await cli(words`change approve ${id}`);
  assert.is(own.code, 1);
  assert.match(own.said, "Somebody else must approve it, with a token of their own");
  assert.is((await cli(words`change withdraw ${id}`)).said, "Withdrawn. Nothing changes\n");
  const back = await cli(words`deploy deactivate ${deployId}`);
  assert.is(back.code, 0);
  assert.match((await cli(words`deploy history ${deployId}`)).out, /not needed/);
  const on = await cli(words`deploy activate ${deployId} --json`);
  const other = (on.json as Data & { request: { id: string } }).request.id;
  assert.is((await cli(words`change decline ${other} --reason No`)).said, "Declined. Nothing changes\n");
  assert.is((await cli(words`change decline ${other}`)).code, 2);
  // Who has the database may switch the rule off.
  assert.is((await data(words`deploy protect ${deployId} --approvals 0`)).approvals, 0);
});

test("who approves whose request, as the table says", async () => {
  const tokens = await makeTokens();
  for (const [maker, approver, status] of isFull ? approvals : approvals.slice(0, 6)) {
    const { deployId } = await setUpGuarded(here);
    const asked = await as(tokens, maker, words`deploy promote ${deployId} --version 2 --json`);
    assert.is(asked.code, 3, asked.said);
    const { id } = (asked.json as Data & { request: { id: string } }).request;
    const waiting = await as(tokens, approver, words`change list --waiting --json`);
    assert.is(waiting.out.includes(id), status === 200, `what waits for ${approver}`);
    const { code, said, out } = await as(tokens, approver, words`change approve ${id}`);
    assert.is(out, "", "what happened is one sentence");
    assert.is(code, status === 200 ? 0 : 1, `${approver} approves what ${maker} requested: ${said}`);
    const live = (await here.data(words`deploy show ${deployId}`)).currentVersion;
    assert.is(live, status === 200 ? 2 : 1);
    if (status !== 200) continue;
    assert.is(said, "Applied to greeting@production: version 1 → version 2\n");
    assert.match(
      (await here.cli(words`deploy history ${deployId}`)).out,
      `requested by ${maker === "operator" ? "the operator" : maker}`,
    );
  }
});

test.run();
