// Who may change a deployment that needs an approval, request a change of it, and approve one: written by hand from what the
// documentation promises. It shares nothing with the code, and every face of the service is held to it.
import { promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { taken } from "./management.ts";

/** The people and programs of the table, their roles, and the person that their token belongs to. */
export const people = {
  vic: ["viewer", "vic@acme.com"],
  ed: ["editor", "ed@acme.com"],
  ann: ["publisher", "ann@acme.com"],
  annsPhone: ["publisher", "Ann@ACME.com"],
  bob: ["publisher", "bob@acme.com"],
  robot: ["publisher", undefined],
  robot2: ["publisher", undefined],
  ada: ["admin", "ada@acme.com"],
  alan: ["admin", "alan@acme.com"],
  olga: ["owner", "olga@acme.com"],
} as const satisfies Record<string, readonly [role: string, owner: string | undefined]>;

/** `operator` has the admin token of the service, which is everybody's. */
export type Person = keyof typeof people | "operator";

/** What the state must be for a change to make sense. */
type Stage = "plain" | "served" | "rolling" | "off" | "archived";

type Row = {
  stage: Stage;
  /** Below `/admin/v1`, with D for the deployment, P for its prompt and W for the workspace. */
  path: string;
  body?: object;
  /** What these get: 403, 200 for a change that is made at once, 202 for one that is requested, 409 for one that is refused. */
  status: Record<"vic" | "ed" | "ann" | "ada" | "olga" | "operator", number>;
};

const byRole = (vic: number, ed: number, ann: number, ada: number, olga: number) => ({
  ...{ vic, ed, ann, ada, olga, operator: olga },
});
const set = {
  prompts: [{ name: "greeting", ifLatest: 2, deploy: [{ name: "production", version: 2, ifRevision: 2 }] }],
};

export const changesOfAll: Record<string, Row> = {
  promote: {
    stage: "plain",
    path: "/deployments/D/promote",
    body: { version: 2 },
    status: byRole(403, 403, 202, 202, 202),
  },
  "start a rollout": {
    ...{ stage: "plain", path: "/deployments/D/rollout", body: { version: 2, percent: 10 } },
    status: byRole(403, 403, 202, 202, 202),
  },
  "raise a share": {
    ...{ stage: "rolling", path: "/deployments/D/rollout", body: { percent: 50 } },
    status: byRole(403, 403, 202, 202, 202),
  },
  activate: { stage: "off", path: "/deployments/D/activate", status: byRole(403, 403, 202, 202, 202) },
  rename: {
    stage: "plain",
    path: "/deployments/D/rename",
    body: { name: "main" },
    status: byRole(403, 403, 202, 202, 202),
  },
  archive: { stage: "plain", path: "/deployments/D/archive", status: byRole(403, 403, 202, 202, 202) },
  unarchive: { stage: "archived", path: "/deployments/D/unarchive", status: byRole(403, 403, 202, 202, 202) },
  "ask no approval": {
    ...{ stage: "plain", path: "/deployments/D/protect", body: { approvals: 0 } },
    status: byRole(403, 403, 403, 202, 200),
  },
  unprotect: { stage: "plain", path: "/deployments/D/unprotect", status: byRole(403, 403, 403, 202, 200) },
  publish: {
    ...{ stage: "plain", path: "/workspaces/W/publish", body: { ...promptFile, title: "Third", deploy: "D" } },
    status: byRole(403, 403, 202, 202, 202),
  },
  apply: { stage: "plain", path: "/apply", body: set, status: byRole(403, 403, 202, 202, 202) },
  "roll back": { stage: "served", path: "/deployments/D/rollback", status: byRole(403, 403, 200, 200, 200) },
  deactivate: { stage: "plain", path: "/deployments/D/deactivate", status: byRole(403, 403, 200, 200, 200) },
  "stop a rollout": { stage: "rolling", path: "/deployments/D/rollout/stop", status: byRole(403, 403, 200, 200, 200) },
  "rename its prompt": {
    ...{ stage: "plain", path: "/prompts/P/rename", body: { name: "hello" } },
    status: byRole(403, 403, 409, 409, 409),
  },
  "archive its prompt": { stage: "plain", path: "/prompts/P/archive", status: byRole(403, 403, 409, 409, 409) },
};

/** Who approves whose promotion, and what they get. */
export const approvals: [maker: Person, approver: Person, status: number][] = [
  ["ann", "ann", 409],
  ["ann", "annsPhone", 409],
  ["annsPhone", "ann", 409],
  ["ann", "vic", 403],
  ["ann", "ed", 403],
  ["ann", "bob", 200],
  ["ann", "robot", 200],
  ["ann", "olga", 200],
  ["ann", "operator", 200],
  ["robot", "robot", 409],
  ["robot", "robot2", 200],
  ["robot", "ann", 200],
  ["olga", "olga", 409],
  ["olga", "bob", 200],
  ["operator", "operator", 409],
  ["operator", "bob", 200],
];

/** Who approves that no approval is needed any more, which admins may. */
export const approvalsOfProtection: typeof approvals = [
  ["ada", "ada", 409],
  ["ada", "bob", 403],
  ["ada", "alan", 200],
  ["ada", "olga", 200],
];

export type Cast = Record<Person, string>;

const setups: Record<Stage, [action: string, body: object][]> = {
  plain: [],
  served: [["promote", { version: 2 }]],
  rolling: [["rollout", { version: 2, percent: 10 }]],
  off: [["deactivate", {}]],
  archived: [["archive", {}]],
};

/** Readies the deployment of a world, which has two versions and then needs approvals. Returns the token of each person. */
export async function setStage(world: World, stage: Stage, operator: string): Promise<Cast> {
  const { deployId, promptId } = world;
  taken(await world.manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: "Second" }), 201);
  for (const [action, body] of setups[stage]) {
    taken(await world.manage("POST", `/deployments/${deployId}/${action}`, body));
  }
  taken(await world.manage("POST", `/deployments/${deployId}/protect`, { approvals: 1 }));
  const tokens = await Promise.all(
    Object.entries(people).map(async ([name, [role, owner]]) => {
      const body = { name, role, ...owner === undefined ? {} : { owner } };
      return [name, taken<{ token: string }>(await world.manage("POST", "/tokens", body), 201).token];
    }),
  );
  return { ...Object.fromEntries(tokens), operator };
}

/** The request of a row in a world. */
export function requestOf({ workspaceId, promptId, deployId }: World, { path, body = {} }: Row) {
  const ids: Record<string, string> = { D: deployId, P: promptId, W: workspaceId };
  const named = JSON.parse(JSON.stringify(body).replace('"deploy":"D"', `"deploy":"${deployId}"`)) as object;
  const target = path.replace(/(?<=\/)[DPW](?=\/|$)/g, (letter) => ids[letter]!);
  return { path: target, body: path === "/apply" ? { ...named, workspaceId } : named };
}
