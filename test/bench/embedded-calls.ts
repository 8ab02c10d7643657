// What calls without HTTP take, measured in a process of its own: prints calls/s and the median µs of a lone call, as JSON.
import process from "node:process";
import { openService } from "../../src/index.ts";
import { management } from "../../src/management.ts";
import { promptFile } from "../helpers.ts";
import { postBody } from "./load.ts";

const { DATABASE_URL: database, SECONDS, CONNECTIONS } = process.env;
const service = await openService({ database: database!, faces: [management()] });
const { admin } = service;
const { id: workspaceId } = await admin.createWorkspace({ name: "Acme", monthlyLimit: 1e9 });
const { key } = await admin.createApiKey({ workspaceId });
const { id: promptId } = await admin.createPrompt({ workspaceId, ...promptFile });
const { id: deployId } = await admin.createDeployment({ workspaceId, promptId, name: "production" });
const target = { key, deployId };
const record = JSON.parse(postBody);

/** Makes calls for a time, so many at once. */
async function measure(call: () => Promise<unknown>, atOnce: number, seconds: number) {
  const times: number[] = [];
  const began = performance.now();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (performance.now() - began < 1000 * seconds) {
      const start = performance.now();
      await call();
      times.push(performance.now() - start);
    }
  }));
  const perSecond = Math.round(times.length / ((performance.now() - began) / 1000));
  return { perSecond, p50: 1000 * times.sort((a, b) => a - b)[times.length >> 1]! };
}

const results: Record<string, { perSecond: number; p50: number }> = {};
const calls = { GET: () => service.readPrompt(target), POST: () => service.recordDiagnosis(target, record) };
for (const [method, call] of Object.entries(calls)) {
  await measure(call, Number(CONNECTIONS), 1);
  const { perSecond } = await measure(call, Number(CONNECTIONS), Number(SECONDS));
  const { p50 } = await measure(call, 1, Number(SECONDS));
  results[method] = { perSecond, p50 };
}
console.log(JSON.stringify(results));
await service.close();
process.exit(0);
