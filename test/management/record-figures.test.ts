// What records took, and which follow one another.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { RecordFigures } from "../../src/management/records/record-figures.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { refused, taken } from "./management.ts";

const test = suite("record figures");

const figuresOf = async ({ manage, workspaceId }: World, ids: string[]) =>
  taken<{ items: RecordFigures[] }>(await manage("GET", `/workspaces/${workspaceId}/record-figures?ids=${ids}`)).items;

test("a record has its tokens, its model and its cost, in the order that was asked for", async () => {
  const world = await createWorld();
  await world.manage("POST", "/prices", { model: "gpt-4o", input: "2.5", cachedInput: "1", output: "10" });
  const submit = async (more: object) => taken<{ id: string }>(await world.submit({ ...goodBody, ...more }), 201).id;
  const usage = { prompt_tokens: 1_000, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 400 } };
  const ids = [
    await submit({ model: "gpt-4o", additional_properties: usage }),
    await submit({ model: "unknown", cost: "0.000000000123" }),
    await submit({ model: "unknown", additional_properties: { completion_tokens: 3 } }),
  ].reverse();
  const deleted = await submit({ cost: 1 });
  await world.manage("DELETE", `/diagnoses/${deleted}`);
  assert.equal(await figuresOf(world, [...ids, deleted, "diag_none", ids[0]!]), [
    {
      ...{ id: ids[0], model: "unknown", cost: null, costSource: null },
      tokens: { prompt: null, completion: 3, cached: 0, written: 0 },
    },
    { id: ids[1], model: "unknown", tokens: null, cost: "0.000000000123", costSource: "record" },
    {
      ...{ id: ids[2], model: "gpt-4o", cost: "0.0021", costSource: "prices" },
      tokens: { prompt: 1_000, completion: 20, cached: 400, written: 0 },
    },
  ]);
  await world.close();
});

test("records far from each other in the log of many deployments are found", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin, 10_000, "Other");
  const ids: string[] = [];
  for (let nth = 0; nth < 6; nth++) {
    for (let call = 0; call < 60 * nth; call++) await world.read(other.deployId, other.key);
    ids.push(taken<{ id: string }>(await world.submit({ ...goodBody, cost: nth }), 201).id);
  }
  assert.equal((await figuresOf(world, ids)).map(({ cost }) => Number(cost)), [0, 1, 2, 3, 4, 5]);
  await world.close();
});

test("records of another workspace have no figures, and nothing follows them", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin, 10, "Other");
  const { id } = taken<{ id: string }>(await world.submit(goodBody, other.deployId, other.key), 201);
  assert.equal(await figuresOf(world, [id]), []);
  for (const path of [`/workspaces/${world.workspaceId}`, `/deployments/${world.deployId}`]) {
    refused(await world.manage("GET", `${path}/diagnoses?after=${id}`), 404, `Record ${id} not found`);
    refused(await world.manage("GET", `${path}/diagnoses?after=diag_x`), 404, "Record diag_x not found");
  }
  await world.close();
});

test("ids that are none, or too many, are refused", async () => {
  const { manage, workspaceId, close } = await createWorld();
  for (const ids of ["", ",", "diag_x,", "a\0b", "%", Array(101).fill("diag_x").join()]) {
    refused(
      await manage("GET", `/workspaces/${workspaceId}/record-figures?${new URLSearchParams({ ids })}`),
      400,
      "Field ids must be 1 to 100 ids of records, with commas between them",
    );
  }
  await close();
});

test("a list after a record goes on where that record stands, though it was deleted", async () => {
  const world = await createWorld();
  const ids: string[] = [];
  for (let nth = 0; nth < 8; nth++) {
    ids.push(taken<{ id: string }>(await world.submit({ ...goodBody, status: nth % 2 }), 201).id);
  }
  await world.manage("DELETE", `/diagnoses/${ids[3]}`);
  const places = fc.tuple(fc.nat({ max: 7 }), fc.constantFrom("newest", "oldest"), fc.constantFrom(0, 1, undefined));
  await fc.assert(
    fc.asyncProperty(places, async ([place, order, status]) => {
      const query = new URLSearchParams({
        after: ids[place]!,
        order,
        limit: "2",
        ...status !== undefined && { status: `${status}` },
      });
      const list = async (more = "") =>
        taken<{ items: { id: string }[]; nextCursor: string | null }>(
          await world.manage("GET", `/workspaces/${world.workspaceId}/diagnoses?${query}${more}`),
        );
      const found: string[] = [];
      for (let page = await list();; page = await list(`&cursor=${page.nextCursor}`)) {
        found.push(...page.items.map(({ id }) => id));
        if (page.nextCursor === null) break;
      }
      const left = ids.filter((_, nth) => nth !== 3 && (status === undefined || nth % 2 === status));
      const wanted = order === "newest"
        ? left.filter((id) => ids.indexOf(id) < place).reverse()
        : left.filter((id) => ids.indexOf(id) > place);
      assert.equal(found, wanted);
    }),
    { numRuns: 40 },
  );
  await world.close();
});

test.run();
