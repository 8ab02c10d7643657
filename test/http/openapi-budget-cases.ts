// Requests to the operations of budgets, so that they get each of the responses that the service describes.
import type { World } from "../helpers.ts";
import type { Ask, Opened } from "./openapi-cases.ts";

const make = async ({ manage, workspaceId }: World, more: object = {}) => {
  const body = { amount: "50", per: "month", ...more };
  return ((await manage("POST", `/workspaces/${workspaceId}/budgets`, body)).json as { id: string }).id;
};

/** A budget as it was made, and one of a prompt and a key. */
export const makeBudgets = async (world: World) => ({
  fresh: await make(world),
  narrow: await make(world, { promptId: world.promptId, keyId: world.keyId }),
});

const named = (which: keyof Opened["budgets"], more: object = {}): Ask => ({ budgets }) => ({
  path: { id: budgets[which] },
  ...more,
});
const both = [named("fresh"), named("narrow")];
const ofWorkspace = (more: object): Ask => ({ workspaceId }) => ({ path: { workspaceId }, ...more });

export const budgetCases: Record<string, Record<number, Ask[]>> = {
  createBudget: {
    201: [
      ofWorkspace({ body: { amount: "50", per: "month" } }),
      ({ workspaceId, promptId, keyId }) => ({
        path: { workspaceId },
        body: { amount: "0.5", per: "day", at: "10,100", promptId, keyId },
      }),
    ],
    409: [
      async (world) => {
        for (let nth = 0; nth < 100; nth++) await make(world);
        return { path: { workspaceId: world.workspaceId }, body: { amount: "50", per: "month" } };
      },
    ],
  },
  listBudgets: { 200: [ofWorkspace({}), ofWorkspace({ query: { limit: "1" } })] },
  readBudget: { 200: both },
  updateBudget: { 200: [named("fresh", { body: { amount: "60" } }), named("narrow", { body: { at: "90" } })] },
  deleteBudget: { 200: both },
};
