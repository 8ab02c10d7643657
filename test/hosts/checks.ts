// What every host goes through, over real sockets.
import * as assert from "uvu/assert";
import type { HttpRequest } from "../conformance/http-client.ts";
import { until } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import { bodyChecks } from "./body-checks.ts";
import { ask, body, half, halfSubmit, headersOf, statusOf } from "./requests.ts";
import type { Check, Stage } from "./stage.ts";

const readsAndSubmits: Check = {
  name: "answers a read, and submits of a known and an unknown length",
  async run(stage) {
    const { read, submit } = stage.targets;
    assert.equal(await ask(stage, read), 200);
    assert.equal(await ask(stage, submit, { method: "POST", body }), 201);
    assert.equal(await ask(stage, submit, { method: "POST", body, chunkSize: 10 }), 201);
    assert.equal(await ask(stage, read.replace("prompts", "nothing")), 404);
  },
};

const framesAnswers: Check = {
  name: "answers HEAD and 304 without a body, on a connection that stays in step",
  async run(stage) {
    const { headers } = await stage.send(stage.targets.read);
    const known = [...headersOf(stage), `If-None-Match: ${headers.get("etag")}`];
    const connection = stage.open();
    const statuses: (number | string)[] = [];
    for (
      const request of [{ method: "HEAD" }, { headers: known }, { headers: known, method: "HEAD" }, {}] as HttpRequest[]
    ) {
      connection.write(stage.bytesOf(stage.targets.read, request));
      statuses.push(await statusOf(connection, request.method === "HEAD"));
    }
    connection.close();
    assert.equal(statuses, [200, 304, 304, 200]);
  },
};

const endsExports: Check = {
  isHasty: true,
  counts: true,
  name: "ends an export whose client goes away",
  async run(stage) {
    const request = { headers: [`Authorization: Bearer ${adminToken}`] };
    const empty = await stage.send(`${stage.targets.export}?sessionId=none`, request);
    assert.equal([empty.status, empty.text], [200, ""]);
    const connection = stage.open();
    connection.stopReading();
    const hasArrived = await stage.isArriving("/export");
    connection.write(stage.bytesOf(stage.targets.export, request));
    await until(hasArrived);
    connection.close();
    await until(async () => await stage.countInFlight() === 0);
  },
};

const survivesPipelines: Check = {
  isHasty: true,
  counts: true,
  name: "forgets pipelined requests whose client goes away without reading",
  async run(stage) {
    const request = stage.bytesOf(stage.targets.export, { headers: [`Authorization: Bearer ${adminToken}`] });
    const hasArrived = await stage.isArriving("/export");
    const connection = stage.open();
    connection.stopReading();
    for (let n = 0; n < 4; n++) connection.write(request);
    // The first gets to the service at least: a host may close a connection on which others come before its answer.
    await until(hasArrived);
    connection.close();
    await until(async () => await stage.countInFlight() === 0);
    assert.equal(await ask(stage, stage.targets.read), 200);
  },
};

const closes: Check = {
  name: "closes with requests in flight: they are answered, and later ones are refused with 503",
  closes: true,
  async run(stage) {
    const { read, submit } = stage.targets;
    const before = await stage.countUsed();
    const slow = Array.from({ length: 3 }, () => stage.open());
    for (const connection of slow) connection.write(halfSubmit(stage, "length"));
    await until(async () => await stage.countInFlight() === slow.length);
    const closing = stage.close();
    const hasty = Array.from({ length: 20 }, () => ask(stage, submit, { method: "POST", body }));
    await closing.begun;
    for (const connection of slow) connection.write(body.slice(half));
    const statuses = await Promise.all(slow.map((connection) => statusOf(connection)));
    for (const connection of slow) connection.close();
    const hastyStatuses = await Promise.all(hasty);
    await closing.done;
    const later = [await ask(stage, read), await ask(stage, submit, { method: "POST", body })];
    assert.equal(stage.ended(), undefined);
    assert.equal(statuses, [201, 201, 201]);
    assert.equal(hastyStatuses.filter((status) => status !== 201 && status !== 503), []);
    assert.equal(later, [503, 503]);
    const answered = [...statuses, ...hastyStatuses].filter((status) => status === 201).length;
    assert.is(await stage.countUsed(), before + answered);
  },
};

/** In the order in which a host goes through them. */
export const checks: Check[] = [readsAndSubmits, framesAnswers, ...bodyChecks, endsExports, survivesPipelines, closes];

/** The checks of a host that reads bodies itself, and keeps them. What is too large or too slow is its own affair. */
export const checksOfRawBody: Check[] = [readsAndSubmits, framesAnswers, endsExports, survivesPipelines];

/** What must hold after every check: the host runs, and answers nothing any more. */
export async function settle(stage: Stage): Promise<void> {
  assert.equal(stage.ended(), undefined);
  await until(async () => await stage.countInFlight() === 0);
}
