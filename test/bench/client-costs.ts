// What a client costs its application, measured in a process of its own: prints the µs of each, as JSON.
import process from "node:process";
import { createClient } from "../../src/client/index.ts";
import { createWorld, goodBody } from "../helpers.ts";

const rounds = 7;
const reference = "greeting@production";
const messages = Array.from({ length: 4 }, (_, index) => ({ role: "user", content: `Greet {{name}} ${index}` }));

/** The median over some rounds of what one of so many turns takes, in µs. A first round is not counted. */
async function measure(turns: number, run: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const began = performance.now();
    for (let turn = 0; turn < turns; turn++) await run();
    if (round > 0) times.push((performance.now() - began) * 1000 / turns);
  }
  return times.sort((a, b) => a - b)[(rounds - 1) / 2]!;
}

const world = await createWorld({ monthlyLimit: 1e9 });
const client = createClient({ apiKey: world.key, fetch: world.fetch });
const away = createClient({ apiKey: "pl_1", fetch: () => new Promise(() => {}), maxQueued: 1e9, maxQueuedBytes: 1e9 });
const { fill } = await client.prompt("greeting@nowhere", { fallback: { messages } });
await client.prompt(reference);
const costs = {
  promise: await measure(200_000, async () => await 1),
  prompt: await measure(200_000, () => client.prompt(reference)),
  fill: await measure(20_000, () => fill({ name: "Ada" })),
  record: await measure(5_000, () => away.record({ deployId: reference, ...goodBody })),
  read: await measure(2_000, () => world.read()),
};
console.log(JSON.stringify(costs));
process.exit(0);
