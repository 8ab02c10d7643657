// The same change at once through two services of one database: one of them made it, and each is told so.
import * as assert from "uvu/assert";
import { verifyBalanced } from "../balanced.ts";
import { createWorld, promptFile } from "../helpers.ts";
import { suite } from "../suite.ts";
import { taken } from "./management.ts";

const test = suite("the same change at once");

const second = { ...promptFile, title: "Second" };

/** Requests in an order in which each changes something, and the member that says so. */
const changes: [path: string, body: object, isChange: (answer: Record<string, unknown>) => boolean][] = [
  ["/prompts/greeting/versions", { ...second, workspaceId: "{ws}" }, ({ isNew }) => isNew === true],
  ["/deployments/greeting@production/promote", { workspaceId: "{ws}", version: 2 }, ({ changed }) => changed === true],
  ["/deployments/greeting@production/rollback", { workspaceId: "{ws}", version: 1 }, ({ changed }) => changed === true],
  [
    "/deployments/greeting@production/rollout",
    { workspaceId: "{ws}", version: 2, percent: 10 },
    ({ changed }) => changed === true,
  ],
  [
    "/deployments/greeting@production/rollout",
    { workspaceId: "{ws}", percent: 20, guard: "failures=+2%" },
    ({ changed }) => changed === true,
  ],
  ["/deployments/greeting@production/rollout/stop", { workspaceId: "{ws}" }, ({ changed }) => changed === true],
  ...["deactivate", "activate", "protect", "unprotect", "archive", "unarchive"].map((
    verb,
  ): (typeof changes)[number] => [
    `/deployments/greeting@production/${verb}`,
    { workspaceId: "{ws}" },
    ({ changed }) => changed === true,
  ]),
  ["/prompts/greeting/archive", { workspaceId: "{ws}" }, ({ changed }) => changed === true],
  ["/prompts/greeting/unarchive", { workspaceId: "{ws}" }, ({ changed }) => changed === true],
  ["/price-lists", { prices: [{ model: "m", input: "1", output: "2" }] }, ({ set }) => set === 1],
];

test("one of two services says that it changed something", async () => {
  const world = await createWorld(), other = await createWorld({ database: world.database, tenant: world });
  for (const [path, body, isChange] of changes) {
    const sent = JSON.parse(JSON.stringify(body).replace("{ws}", world.workspaceId));
    const answers = await Promise.all([world, other, world].map((service) => service.manage("POST", path, sent)));
    const outcomes = answers.map((answer) => isChange(taken(answer, answer.status === 201 ? 201 : 200)));
    assert.equal(outcomes.sort(), [false, false, true], path);
  }
  await verifyBalanced(world.admin);
});

test.run();
