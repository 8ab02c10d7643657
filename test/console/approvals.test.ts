// Approvals at the console: who requests and approves there, by the table of approvals, and what the pages show.
// Runs on Node alone.
import * as assert from "uvu/assert";
import type { ChangeRequest } from "../../src/management/deployments/change-requests.ts";
import { listChangeRequests } from "../../src/management/deployments/change-request-operations.ts";
import { getDeployment } from "../../src/management/deployments/deployments.ts";
import { listTokens } from "../../src/management/access/tokens.ts";
import { call } from "../actions.ts";
import { adminToken, createTenant, createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { approvals, changesOfAll, setStage } from "../management/approval-table.ts";
import type { Person } from "../management/approval-table.ts";
import { taken } from "../management/management.ts";
import { isFull, suite } from "../suite.ts";
import { refusalIn, titleOf, visit, weightOf } from "./visitor.ts";

const test = suite("approvals at the console");

async function openScene(stage: Parameters<typeof setStage>[1] = "plain") {
  const world = await createWorld({ maxBodyBytes: 8 * 1024 * 1024, bodyBudgetBytes: 16 * 1024 * 1024 });
  const cast = await setStage(world, stage, adminToken);
  return { world, path: `/deployments/${world.deployId}`, as: (person: Person) => visit(world, cast[person]) };
}

const newest = async ({ admin }: World): Promise<ChangeRequest> =>
  (await call(listChangeRequests, admin, { limit: 1 })).items[0]!;
const liveIn = async ({ admin, deployId }: World) =>
  (await call(getDeployment, admin, { id: deployId })).currentVersion;

const textOf = (page: string): string => page.replace(/<[^>]*>/g, "");

/** The forms of a page, in words, for the rows of the table that the console offers. */
const forms: Record<string, [page: string, form: Record<string, string>]> = {
  promote: ["/promote", { version: "2" }],
  "start a rollout": ["/rollout", { do: "start", version: "2", percent: "10" }],
  "raise a share": ["/rollout", { do: "change", percent: "50" }],
  activate: ["/activate", {}],
  rename: ["", { name: "main" }],
  archive: ["/archive", {}],
  unarchive: ["/unarchive", {}],
  "ask no approval": ["/protect", {}],
  unprotect: ["/unprotect", {}],
  "roll back": ["/rollback", { version: "1" }],
  deactivate: ["/deactivate", {}],
  "stop a rollout": ["/rollout", { do: "stop" }],
};

for (const [name, [page, form]] of Object.entries(forms)) {
  test(`who may ${name} with a form`, async () => {
    const { stage, status } = changesOfAll[name]!;
    for (const [person, expected] of Object.entries(status) as [Person, number][]) {
      if (!isFull && !["ed", "ann", "olga"].includes(person)) continue;
      const { world, path, as } = await openScene(stage), visitor = await as(person);
      const before = await call(getDeployment, world.admin, { id: world.deployId });
      const answer = await visitor.send(path + page, form);
      const location = answer.headers.get("Location") ?? "";
      if (expected === 403) assert.is(answer.status, 403, `${person}: ${answer.text}`);
      else assert.is(answer.status, 303, `${person}: ${refusalIn(answer.text)}`);
      assert.is(/changes\/change_\w+\?done=requested$/.test(location), expected === 202, `${person}: ${location}`);
      const now = await call(getDeployment, world.admin, { id: world.deployId });
      assert.is(now.revision, before.revision + Number(expected === 200), person);
    }
  });
}

test("who approves whose request with the button", async () => {
  for (const [maker, approver, status] of isFull ? approvals : approvals.slice(0, 7)) {
    const { world, path, as } = await openScene();
    assert.is((await (await as(maker)).send(`${path}/promote`, { version: "2" })).status, 303);
    const { id } = await newest(world), visitor = await as(approver);
    const page = await visitor.see(`/changes/${id}`);
    assert.is(page.includes("Approve and apply</button>"), status === 200, `${approver} for ${maker}`);
    const list = await visitor.see("/changes");
    assert.is(list.includes("Nothing waits for your approval."), status !== 200);
    const answer = await visitor.send(`/changes/${id}`, { do: "approve" });
    assert.is(answer.status, status === 200 ? 303 : status, `${approver} for ${maker}`);
    assert.is(await liveIn(world), status === 200 ? 2 : 1);
  }
});

test("a request shows what differs and the numbers of both versions beside the buttons, and texts stay texts", async () => {
  const { world, path, as } = await openScene();
  for (const promptVersion of [1, 2]) taken(await world.submit({ ...goodBody, promptVersion, latency: 100 }), 201);
  const ann = await as("ann"), bob = await as("bob");
  const asking = await ann.see(`${path}/promote?version=2`);
  assert.match(asking, "Request: Promote v2</button>");
  assert.match(asking, "This changes nothing yet. Another person must approve it.");
  const note = "<script>alert(1)</script>";
  const sent = await ann.send(`${path}/promote`, { version: "2", note });
  const own = await ann.open(`${world.workspaceId}/changes/${(await newest(world)).id}?done=requested`);
  assert.match(sent.headers.get("Location")!, /\?done=requested$/);
  assert.match(own.text, "The change is requested. Nothing changes before another person approves it.");
  assert.match(own.text, "Withdraw the request</button>");
  const { id } = await newest(world);
  const page = await bob.see(`/changes/${id}`);
  for (
    const part of [
      "Approve and apply</button>",
      "What will differ",
      "What both did here",
      "ann@acme.com",
      "&lt;script>alert",
    ]
  ) {
    assert.match(page.replaceAll("&gt;", ">"), part);
  }
  assert.not.match(page, note);
  assert.ok(weightOf(page) < 60_000, `${weightOf(page)} bytes`);
  assert.match(await bob.see(path), `changes/${id}">Look at the request</a>`);
  assert.is(
    refusalIn((await bob.send(`/changes/${id}`, { do: "decline" })).text),
    "Reason must be 1 to 2000 characters without NUL characters.",
  );
  assert.is((await bob.send(`/changes/${id}`, { do: "decline", reason: "Too warm" })).status, 303);
  const declined = await ann.see(`/changes/${id}`);
  assert.match(declined, "Too warm");
  assert.match(declined, "What differed");
  assert.not.match(declined, "</form>\n</section>");
  assert.is((await bob.send(`/changes/${id}`, { do: "approve" })).status, 409);
  assert.is((await bob.send(`/changes/${id}`, { do: "everything" })).status, 400);
  assert.is(titleOf((await bob.open(`${world.workspaceId}/changes/change_0`)).text), "Not found · Acme");
});

test("a list of requests with long reasons stays light, and the page of each has all of its reason", async () => {
  const { world, path, as } = await openScene(), ann = await as("ann"), long = "&<".repeat(995);
  for (let nth = 0; nth < 50; nth++) {
    world.now++;
    assert.is((await ann.send(`${path}/promote`, { version: "2", note: `${nth} ${long}` })).status, 303);
  }
  const list = await (await as("bob")).see("/changes");
  assert.ok(weightOf(list) < 60_000, `${weightOf(list)} bytes`);
  assert.match(
    await ann.see(`/changes/${(await newest(world)).id}`),
    long.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
  );
});

test("a request is on the pages of its own workspace alone", async () => {
  const { world, path, as } = await openScene(), olga = await as("olga");
  await (await as("ann")).send(`${path}/promote`, { version: "2" });
  const { id } = await newest(world), { workspaceId } = await createTenant(world.admin, 1000, "Other");
  const elsewhere = { ...world, workspaceId }, visitor = await visit(elsewhere, adminToken);
  assert.is(titleOf((await visitor.open(`${workspaceId}/changes/${id}`)).text), "Not found · Other");
  assert.is((await visitor.send(`/changes/${id}`, { do: "approve" })).status, 404);
  assert.is(await liveIn(world), 1);
  assert.match(await olga.see(`/changes/${id}`), "Approve and apply</button>");
});

test("the form that rotates a token is there for who may, so that nobody gets another person's", async () => {
  const { world, as } = await openScene(), ada = await as("ada"), olga = await as("olga");
  const { items } = await call(listTokens, world.admin, { limit: 100 });
  const formsFor = async (visitor: typeof ada, name: string) => {
    const page = await visitor.see(`/tokens/${items.find((token) => token.name === name)!.id}`);
    return ["Make a new secret</button>", "Revoke</button>", "This needs the role owner"].map((each) =>
      page.includes(each)
    );
  };
  assert.equal(await formsFor(ada, "ada"), [true, true, false]);
  for (const name of ["ann", "robot", "alan"]) assert.equal(await formsFor(ada, name), [false, true, true], name);
  assert.equal(await formsFor(ada, "olga"), [false, false, true]);
  assert.equal(await formsFor(olga, "ann"), [true, true, false]);
});

test("the need for approvals is switched on and off, and the history says who approved and what needed nobody", async () => {
  const { path, as } = await openScene(), olga = await as("olga"), ann = await as("ann"), bob = await as("bob");
  assert.match(await olga.see(path), "yes, changes need the role publisher and the approval of another person");
  await ann.send(`${path}/promote`, { version: "2" });
  const [, id] = /changes\/(change_\w+)"/.exec(await bob.see("/changes"))!;
  assert.is((await bob.send(`/changes/${id}`, { do: "approve", note: "Fine" })).status, 303);
  assert.match(textOf(await ann.see(path)), "bob, requested by ann");
  await ann.send(`${path}/rollback`, { version: "1" });
  assert.match(textOf(await ann.see(path)), "ann, without approval");
  await olga.send(`${path}/protect`, {});
  assert.match(await ann.see(path), "approvals off");
  await ann.send(`${path}/promote`, { version: "2" });
  assert.not.match(await ann.see(path), "Look at the request");
  await olga.send(`${path}/protect`, { approvals: "yes" });
  assert.match(await ann.see(path), "approvals on");
});

test.run();
