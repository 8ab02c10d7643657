// What every host goes through, over real sockets.
import * as assert from "uvu/assert";
import type { Connection, HttpRequest } from "../conformance/http-client.ts";
import { adminToken, goodBody } from "../helpers.ts";
import { limits } from "./limits.ts";
import { patience, until } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** With `closes` it closes the service, so that the host is not used after it. */
export type Check = { name: string; run(stage: Stage): Promise<void>; closes?: boolean };

const body = JSON.stringify(goodBody);
const large = "x".repeat(limits.maxBodyBytes - 1024);
// Well over the limit, but no more than the system takes in at once: where a write fails because the server has closed the
// connection, Node discards an answer that has arrived.
const over = "x".repeat(1024 * 1024);
const attempts = 3;

/** The ways in which another middleware deals with a body before the service does. */
const unread = ["keeps a clone", "hands on a clone", "wraps the request"];
const sharing = [...unread, "reads a clone"];

/** The status of the next answer, or what came in its place. */
async function statusOf(connection: Connection, isHead = false): Promise<number | string> {
  try {
    return (await connection.readAnswer(isHead)).status;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The status that a request on a connection of its own is answered with, or what came in its place. */
function ask(stage: Stage, target: string, request?: HttpRequest): Promise<number | string> {
  return answerTo(stage, stage.bytesOf(target, request));
}

async function answerTo(stage: Stage, bytes: Uint8Array | string, isHead = false): Promise<number | string> {
  const connection = stage.open();
  connection.write(bytes);
  const status = await statusOf(connection, isHead);
  connection.close();
  return status;
}

const headersOf = (stage: Stage, middleware?: string) => [
  `Authorization: Bearer ${stage.key}`,
  ...(middleware === undefined ? [] : [`X-Middleware: ${middleware}`]),
];

type Framing = "length" | "chunks";
const framings: Framing[] = ["length", "chunks"];

/** A submit of which so much is sent, and then nothing more. */
function unfinished(stage: Stage, framing: Framing, sent: string, length: number, headers = headersOf(stage)): string {
  return [
    `POST ${stage.targets.submit} HTTP/1.1`,
    `Host: ${new URL(stage.url).host}`,
    ...headers,
    framing === "length" ? `Content-Length: ${length}` : "Transfer-Encoding: chunked",
    "",
    framing === "length" ? sent : `${sent.length.toString(16)}\r\n${sent}\r\n`,
  ].join("\r\n");
}

const half = 10;

/** A submit that stops in the middle of its body. */
const halfSubmit = (stage: Stage, framing: Framing, headers = headersOf(stage)): string =>
  unfinished(stage, framing, body.slice(0, half), body.length, headers);

/** Runs an attempt some times, one after the other, and gives what came of each. */
async function repeat<T>(attempt: () => Promise<T>): Promise<T[]> {
  const outcomes: T[] = [];
  for (let n = 0; n < attempts; n++) outcomes.push(await attempt());
  return outcomes;
}

const all = <T>(outcome: T): T[] => Array.from({ length: attempts }, () => outcome);

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

const refusesDeclaredSize: Check = {
  name: "answers 413 to a body that says it is over the limit, while it is sent",
  async run(stage) {
    assert.equal(await repeat(() => answerTo(stage, unfinished(stage, "length", over, 8 * over.length))), all(413));
  },
};

const refusesActualSize: Check = {
  name: "answers 413 to a body that comes to be over the limit, while it is sent",
  async run(stage) {
    assert.equal(await repeat(() => answerTo(stage, unfinished(stage, "chunks", over, NaN))), all(413));
  },
};

const refusesSlowness: Check = {
  name: "answers 408 to a body that does not arrive in time, cloned or not",
  async run(stage) {
    const outcomes = await Promise.all(
      [undefined, ...unread].flatMap((middleware) =>
        framings.map(async (framing) => {
          const status = await answerTo(stage, halfSubmit(stage, framing, headersOf(stage, middleware)));
          return status === 408 ? [] : [`${middleware ?? "nothing else"}, ${framing}: ${status}`];
        })
      ),
    );
    assert.equal(outcomes.flat(), []);
  },
};

/** One check for each way in which a middleware may share the body. */
const sharesBodies = sharing.map((middleware): Check => ({
  name: `answers where a middleware ${middleware}`,
  async run(stage) {
    const headers = headersOf(stage, middleware);
    const keyless = headers.slice(1);
    const { submit } = stage.targets;
    const post = (request: HttpRequest) => ask(stage, submit, { method: "POST", headers, ...request });
    assert.equal(
      {
        submit: await post({ body }),
        "submit in chunks": await post({ body, chunkSize: 10 }),
        "too large by its length": await post({ body: over }),
        "too large in chunks": await post({ body: over, chunkSize: limits.maxBodyBytes }),
        "no key": await post({ headers: keyless, body: large }),
        "no key, too large by its length": await post({ headers: keyless, body: over }),
        "no key, too large in chunks": await post({ headers: keyless, body: over, chunkSize: limits.maxBodyBytes }),
      },
      {
        submit: 201,
        "submit in chunks": 201,
        "too large by its length": 413,
        "too large in chunks": 413,
        "no key": 401,
        "no key, too large by its length": 401,
        "no key, too large in chunks": 401,
      },
    );
  },
}));

const saysWhereToMount: Check = {
  name: "answers 500 where other middleware has read the body, and logs what to do",
  async run(stage) {
    const statuses = await submitJson(stage, headersOf(stage, "reads the body"));
    if (stage.host.isRereadable) return assert.equal(statuses, { "known length": 201, chunks: 201 });
    assert.equal(statuses, { "known length": 500, chunks: 500 });
    assert.match(stage.output(), advice);
  },
};

/** The checks of a host whose own parser takes the body first. */
export const checksAfterParser: Check[] = [{
  name: "answers 500 to a body that a parser has taken, and logs what to do",
  async run(stage) {
    const { "known length": known, chunks } = await submitJson(stage, headersOf(stage));
    assert.equal(known, 500);
    assert.match(stage.output(), advice);
    // Without a length it cannot be told from a body that was empty.
    assert.ok(chunks === 500 || chunks === 400, `${chunks}`);
  },
}, {
  name: "answers what needs no body",
  async run(stage) {
    assert.equal(await ask(stage, stage.targets.read), 200);
  },
}];

const advice = /before (any )?body parsers?/i;

async function submitJson(stage: Stage, headers: string[]) {
  const json = [...headers, "Content-Type: application/json"];
  const post = (request: HttpRequest) =>
    ask(stage, stage.targets.submit, { method: "POST", headers: json, ...request });
  return { "known length": await post({ body }), chunks: await post({ body, chunkSize: 10 }) };
}

const forgetsThoseWhoLeave: Check = {
  name: "forgets a client that goes away in the middle of its body",
  async run(stage) {
    for (const middleware of [undefined, ...unread]) {
      for (const framing of framings) {
        for (const leave of ["close", "reset"] as const) {
          const connection = stage.open();
          connection.write(halfSubmit(stage, framing, headersOf(stage, middleware)));
          const label = `${middleware ?? "nothing else"}, ${framing}, ${leave}`;
          await until(async () => await stage.countInFlight() > 0, `a request in flight: ${label}`);
          connection[leave]();
          await until(async () => await stage.countInFlight() === 0, `none in flight: ${label}`);
          assert.equal(await ask(stage, stage.targets.submit, { method: "POST", body }), 201, label);
        }
      }
    }
  },
};

const refusesTwice: Check = {
  name: "refuses large bodies without a key, on a connection that stays in step or is closed",
  async run(stage) {
    for (const [size, sent] of [["within", large], ["over", over]] as const) {
      for (const chunkSize of [undefined, limits.maxBodyBytes]) {
        const framing = chunkSize === undefined ? {} : { chunkSize };
        const refused = stage.bytesOf(stage.targets.submit, { method: "POST", headers: [], body: sent, ...framing });
        const label = `${size} the limit, ${chunkSize === undefined ? "of a known length" : "in chunks"}`;
        const statuses: (number | string)[] = [];
        let connection = stage.open();
        for (let n = 0; n < 2; n++) {
          connection.write(refused);
          const answer = await connection.readAnswer().catch((error: Error) => error.message);
          statuses.push(typeof answer === "string" ? answer : answer.status);
          if (typeof answer !== "string" && answer.headers.get("connection")?.toLowerCase() !== "close") continue;
          connection.close();
          connection = stage.open();
        }
        connection.write(stage.bytesOf(stage.targets.submit, { method: "POST", body }));
        statuses.push(await statusOf(connection));
        connection.close();
        assert.equal(statuses, [401, 401, 201], label);
      }
    }
  },
};

const refusesAtOnce: Check = {
  name: "refuses a request without a key, whose body never comes to an end",
  async run(stage) {
    assert.equal(await answerTo(stage, halfSubmit(stage, "length", [])), 401);
    assert.equal(await answerTo(stage, halfSubmit(stage, "chunks", [])), 401);
  },
};

const endsExports: Check = {
  name: "ends an export whose client goes away",
  async run(stage) {
    const request = { headers: [`Authorization: Bearer ${adminToken}`] };
    const empty = await stage.send(`${stage.targets.export}?sessionId=none`, request);
    assert.equal([empty.status, empty.text], [200, ""]);
    const connection = stage.open();
    connection.stopReading();
    connection.write(stage.bytesOf(stage.targets.export, request));
    await until(async () => await stage.countInFlight() > 0, "an export in flight");
    connection.close();
    await until(async () => await stage.countInFlight() === 0, "none in flight");
  },
};

const survivesPipelines: Check = {
  name: "forgets pipelined requests whose client goes away without reading",
  async run(stage) {
    const request = stage.bytesOf(stage.targets.export, { headers: [`Authorization: Bearer ${adminToken}`] });
    const before = await stage.countExports();
    const connection = stage.open();
    connection.stopReading();
    for (let n = 0; n < 4; n++) connection.write(request);
    // The first gets to the service at least: a host may close a connection on which others come before its answer. What
    // is answered is not counted on Workers.
    await until(
      async () => await stage.countInFlight() > 0 || await stage.countExports() > before,
      "an export to get to the service",
    );
    connection.close();
    await until(async () => await stage.countInFlight() === 0, "none in flight");
    assert.equal(await ask(stage, stage.targets.read), 200);
  },
};

const closes: Check = {
  name: "closes with requests in flight: they are answered, and later ones are refused with 503",
  closes: true,
  async run(stage) {
    const { read, submit } = stage.targets;
    const before = (await stage.verify()).used;
    const slow = Array.from({ length: 3 }, () => stage.open());
    for (const connection of slow) connection.write(halfSubmit(stage, "length"));
    await until(async () => await stage.countInFlight() === slow.length, "three requests in flight");
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
    assert.equal(await stage.verify(), { balanced: true, used: before + answered });
  },
};

/** In the order in which a host goes through them. */
export const checks: Check[] = [
  readsAndSubmits,
  framesAnswers,
  refusesDeclaredSize,
  refusesActualSize,
  refusesTwice,
  refusesAtOnce,
  refusesSlowness,
  ...sharesBodies,
  saysWhereToMount,
  forgetsThoseWhoLeave,
  endsExports,
  survivesPipelines,
  closes,
];

/** What must hold after every check: the host runs, answers nothing any more, and its ledger balances. */
export async function settle(stage: Stage): Promise<void> {
  assert.equal(stage.ended(), undefined);
  const last = { count: NaN };
  await until(async () => (last.count = await stage.countInFlight()) === 0, "no request in flight").catch(() => {
    throw new Error(`${last.count} requests are in flight ${patience / 1000} s after the last one was answered`);
  });
  assert.equal((await stage.verify()).balanced, true);
}
