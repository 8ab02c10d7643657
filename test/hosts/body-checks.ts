// The checks of bodies: refused, slow, shared with other middleware, taken by a parser, broken off.
import * as assert from "uvu/assert";
import type { HttpRequest } from "../conformance/http-client.ts";
import { until } from "../conformance/processes.ts";
import { maxBodyBytes } from "./limits.ts";
import { all, answerTo, ask, body, framings, halfSubmit, headersOf, repeat, statusOf, unfinished } from "./requests.ts";
import type { Check, Stage } from "./stage.ts";

const large = "x".repeat(maxBodyBytes - 1024);
// Well over the limit, but no more than the system takes in at once: where a write fails because the server has closed the
// connection, Node discards an answer that has arrived.
const over = "x".repeat(1024 * 1024);

/** The ways in which another middleware deals with a body before the service does. */
const unread = ["keeps a clone", "hands on a clone", "wraps the request"];
const sharing = [...unread, "reads a clone"];

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

const refusesTwice: Check = {
  name: "refuses large bodies without a key, on a connection that stays in step or is closed",
  async run(stage) {
    for (const [size, sent] of [["within", large], ["over", over]] as const) {
      for (const chunkSize of [undefined, maxBodyBytes]) {
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

const refusesSlowness: Check = {
  isHasty: true,
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
        "too large in chunks": await post({ body: over, chunkSize: maxBodyBytes }),
        "no key": await post({ headers: keyless, body: large }),
        "no key, too large by its length": await post({ headers: keyless, body: over }),
        "no key, too large in chunks": await post({ headers: keyless, body: over, chunkSize: maxBodyBytes }),
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

const forgetsThoseWhoLeave: Check = {
  isHasty: true,
  name: "forgets a client that goes away in the middle of its body",
  async run(stage) {
    for (const middleware of [undefined, ...unread]) {
      for (const framing of framings) {
        for (const leave of ["close", "reset"] as const) {
          const connection = stage.open();
          const label = `${middleware ?? "nothing else"}, ${framing}, ${leave}`;
          const hasArrived = await stage.isArriving("/diagnosis");
          connection.write(halfSubmit(stage, framing, headersOf(stage, middleware)));
          if (!stage.host.isWorker) await until(hasArrived);
          connection[leave]();
          await until(async () => await stage.countInFlight() === 0);
          assert.equal(await ask(stage, stage.targets.submit, { method: "POST", body }), 201, label);
        }
      }
    }
  },
};

/** In the order in which a host goes through them. */
export const bodyChecks: Check[] = [
  refusesDeclaredSize,
  refusesActualSize,
  refusesTwice,
  refusesAtOnce,
  refusesSlowness,
  ...sharesBodies,
  saysWhereToMount,
  forgetsThoseWhoLeave,
];

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
