// Requests about deployments that need an approval, for the cases of each response in openapi-cases.ts.
import type { Deployment, DeploymentResult } from "../../src/management/deployments/deployments.ts";
import { promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import type { Sent } from "./openapi-contract.ts";

type Ask = (world: World) => Sent | Promise<Sent>;

const change = (world: World, action: string, body: object = {}) =>
  world.manage("POST", `/deployments/${world.deployId}/${action}`, body);

/** A change of the deployment, which needs an approval. */
const guarded = (body?: object, prepare = (_: World): Promise<unknown> => Promise.resolve()): Ask => async (world) => {
  await prepare(world);
  await change(world, "protect", { approvals: 1 });
  return { path: { id: world.deployId }, ...body === undefined ? {} : { body } };
};

/** A token of the person Ann. */
async function byAnn(world: World) {
  const body = { name: "ann", role: "admin", owner: "ann@acme.com" };
  const { token } = (await world.manage("POST", "/tokens", body)).json as { token: string };
  return { Authorization: `Bearer ${token}` };
}

const none = "none";

/** The id of the change request in an answer. There is none where the database fails. */
const idIn = (json: unknown): string => (json as Partial<DeploymentResult>).request?.id ?? none;

/** Has the deployment need an approval, and no change request be open. */
async function protect(world: World): Promise<void> {
  await change(world, "protect", { approvals: 1 });
  const { items = [] } = (await world.manage("GET", "/changes?state=open")).json as { items?: { id: string }[] };
  for (const { id } of items) await world.manage("POST", `/changes/${id}/decline`, { reason: "No" });
}

/** A change request of Ann's. Of whom it is stands in the database, because her token counts as a guess where many fail. */
async function request(world: World): Promise<string> {
  await protect(world);
  const { currentVersion } = (await world.manage("GET", `/deployments/${world.deployId}`)).json as Deployment;
  const { json } = await change(world, "promote", { version: currentVersion === 1 ? 2 : 1 });
  const id = idIn(json);
  if (id === none) return id;
  const sql =
    "update change_requests set requested_by = 'ann', owner = 'ann@acme.com', token_id = 'token_0' where id = ?";
  await world.database.write([{ sql, args: [id] }]);
  return id;
}
const thatRequest: Ask = async (world) => ({ path: { id: await request(world) } });
/** One of the admin token, about no version, which was withdrawn. */
const ownRequest: Ask = async (world) => {
  await protect(world);
  const { json } = await change(world, "archive");
  return { path: { id: idIn(json) } };
};
const withdrawn: Ask = async (world) => {
  const { path } = await ownRequest(world);
  await world.manage("POST", `/changes/${path!.id}/withdraw`);
  return { path: path! };
};
const declined: Ask = async (world) => {
  const { path } = await thatRequest(world);
  await world.manage("POST", `/changes/${path!.id}/decline`, { reason: "No" });
  return { path: path! };
};
const reason = { reason: "Too warm" };

/** A deployment that was changed with an approval, and then without one. */
export const approved: Ask = async (world) => {
  await world.manage("POST", `/changes/${await request(world)}/approve`);
  return { path: { id: world.deployId } };
};
export const rolledBack: Ask = async (world) => {
  const sent = await approved(world);
  await change(world, "rollback");
  return sent;
};

/** The requests that open a change request, by the operation. */
export const requestCases: Record<string, Ask[]> = {
  promoteDeployment: [guarded({ version: 1 })],
  setRollout: [guarded({ version: 1, percent: 10 })],
  activateDeployment: [guarded(undefined, (world) => change(world, "deactivate"))],
  renameDeployment: [guarded({ name: "main" })],
  archiveDeployment: [guarded()],
  unarchiveDeployment: [guarded(undefined, (world) => change(world, "archive"))],
  protectDeployment: [async (world) => ({ ...await guarded({ approvals: 0 })(world), headers: await byAnn(world) })],
  unprotectDeployment: [async (world) => ({ ...await guarded()(world), headers: await byAnn(world) })],
  publishPrompt: [
    async (world) => {
      await guarded()(world);
      const { workspaceId, deployId: deploy } = world;
      return { path: { workspaceId }, body: { ...promptFile, title: "New", deploy } };
    },
  ],
  applyPrompts: [
    async (world) => {
      await guarded()(world);
      const deploy = [{ name: "live", version: 1, ifRevision: 6 }];
      return { body: { workspaceId: world.workspaceId, prompts: [{ name: "greeting", ifLatest: 2, deploy }] } };
    },
  ],
};

/** The cases of the operations on change requests. */
export const changeRequestCases: Record<string, Record<number, Ask[]>> = {
  listChangeRequests: {
    200: [
      async (world) => {
        await declined(world);
        return {};
      },
      ({ workspaceId, deployId }) => ({
        query: { workspaceId, deployId, state: "open", waiting: "true", limit: "1" },
      }),
    ],
  },
  getChangeRequest: { 200: [thatRequest, withdrawn, declined] },
  approveChangeRequest: {
    200: [async (world) => ({ ...await thatRequest(world), body: { note: "Reads well" } })],
    409: [ownRequest],
  },
  declineChangeRequest: {
    200: [async (world) => ({ ...await thatRequest(world), body: reason })],
    409: [async (world) => ({ ...await withdrawn(world), body: reason })],
  },
  withdrawChangeRequest: { 200: [ownRequest], 409: [thatRequest] },
};
