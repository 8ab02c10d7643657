// The warning of a quota that is used up.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { serveDatabase } from "../../src/service/service.ts";
import { warnOfUsedQuotas } from "../../src/runtime/serving/used-quotas.ts";
import { captureLog, createWorld, goodBody } from "../helpers.ts";

const test = suite("used quotas");

test("a quota that is used up is a warning once a month, by whichever call it is met", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  const clock = () => world.now;
  const { log, logged } = captureLog("warn", "json", clock);
  const { fetch } = serveDatabase(world.database, { clock, log: warnOfUsedQuotas(log, clock) });
  const headers = { Authorization: `Bearer ${world.key}` }, url = "http://ledger.test/v1";
  const records = [{ ...goodBody, deployId: world.deployId }];
  const read = () => fetch(new Request(`${url}/prompts?deployId=${world.deployId}`, { headers }));
  const submit = () =>
    fetch(new Request(`${url}/diagnoses`, { method: "POST", headers, body: JSON.stringify({ records }) }));
  const warnings = () => logged.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
  const message = "Quota is used up. Requests are refused until it resets or is raised";
  const warning = (until: string) => [{ ...{ message, level: "warn", workspaceId: world.workspaceId }, until }];
  const shown = () => warnings().map(({ time: _, ...line }) => line);
  await read();
  assert.equal(shown(), []);
  await submit();
  await read();
  await submit();
  assert.equal(shown(), warning("2026-12-01T00:00:00.000Z"));
  world.now = Date.UTC(2026, 11, 5);
  assert.equal([(await read()).status, (await read()).status, (await read()).status], [200, 429, 429]);
  assert.equal(shown(), warning("2027-01-01T00:00:00.000Z"));
});

test.run();
