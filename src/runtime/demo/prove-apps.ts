// The apps of a trial: they read prompts, submit records, and repeat requests without an answer.
import { request } from "node:http";

/** The workspace of an app, and its access to it. */
export type App = { workspaceId: string; key: string; deployId: string };

/** The answers that the apps received. */
export type Told = {
  answers: number;
  unanswered: number;
  /** The ids of confirmed records. */
  records: string[];
  /** Answered reads, and reads without an answer, each of which may be counted or not. */
  reads: { answered: number; unanswered: number };
  /** Requests in the workspace whose quota is raced for. */
  racing: { requests: number; refused: number };
  /** Unexpected responses. */
  strange: Map<string, number>;
  /** True if some requests were abandoned, because the last answers took too long. */
  isIncomplete: boolean;
};

const recorders = 8, readers = 4, racers = 4;
const requestTimeout = 30_000; // ms
const pause = 50; // ms between two attempts while the service is away
const patience = 60_000; // ms that the last answers may take

type Answer = { status: number; text: string };

/** No service listens, so nothing was sent. */
const away = { status: 0, text: "" };

/**
 * Starts the apps on a service whose URL may change. `stop` resolves once no request is under way, every record is
 * answered, and the quota that they race for is used up, or once that takes too long. `abandon` ends them at once.
 */
export function startApps(
  urlOf: () => string,
  steady: App,
  racing: App,
): { told: Told; stop(): Promise<void>; abandon(): void } {
  const told: Told = {
    ...{ answers: 0, unanswered: 0, records: [], reads: { answered: 0, unanswered: 0 } },
    ...{ racing: { requests: 0, refused: 0 }, strange: new Map(), isIncomplete: false },
  };
  let isStopped = false, isAbandoned = false, sessions = 0;

  /** Sends a read, or a submit with a body. Undefined without an answer, or for an error of the service. */
  async function send({ key, deployId }: App, body?: object, idempotencyKey?: string): Promise<Answer | undefined> {
    const path = `/v1/${body === undefined ? "prompts" : "diagnosis"}?deployId=${deployId}`;
    const headers = {
      Authorization: `Bearer ${key}`,
      ...body !== undefined && { "Content-Type": "application/json" },
      ...idempotencyKey !== undefined && { "Idempotency-Key": `"${idempotencyKey}"` },
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    let answer = await exchange(urlOf() + path, headers, text);
    while (answer === away && !isAbandoned) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      answer = await exchange(urlOf() + path, headers, text);
    }
    if (answer === undefined || answer === away || answer.status >= 500) {
      told.unanswered++;
      return undefined;
    }
    if (answer.status < 300) told.answers++;
    return answer;
  }

  const note = ({ status, text }: Answer) => {
    const what = `${status} ${text.slice(0, 200)}`;
    told.strange.set(what, (told.strange.get(what) ?? 0) + 1);
  };

  const recordOf = (sessionId: string) => ({
    ...{ sessionId, status: 1, latency: 10 },
    content: { input: "Where is my parcel?", output: "It arrives tomorrow." },
  });

  async function record(): Promise<void> {
    while (!isStopped) {
      const session = `session-${sessions++}`;
      let answer = await send(steady, recordOf(session), session);
      while (answer === undefined && !isAbandoned) answer = await send(steady, recordOf(session), session);
      if (answer === undefined) return;
      if (answer.status === 201) told.records.push((JSON.parse(answer.text) as { id: string }).id);
      else note(answer);
    }
  }

  async function read(): Promise<void> {
    while (!isStopped) {
      const answer = await send(steady);
      if (answer === undefined) told.reads.unanswered++;
      else if (answer.status === 200) told.reads.answered++;
      else note(answer);
    }
  }

  async function race(): Promise<void> {
    const { racing: race } = told;
    while (!isAbandoned && (!isStopped || race.refused === 0)) {
      race.requests++;
      const answer = await send(racing, recordOf(`race-${race.requests}`));
      if (answer?.status === 429) race.refused++;
      else if (answer !== undefined && answer.status !== 201) note(answer);
    }
  }

  function abandon(): void {
    isStopped = isAbandoned = true;
  }

  const work = [
    ...Array.from({ length: recorders }, record),
    ...Array.from({ length: readers }, read),
    ...Array.from({ length: racers }, race),
  ];
  return {
    told,
    async stop() {
      isStopped = true;
      const timer = setTimeout(() => {
        told.isIncomplete = true;
        abandon();
      }, patience);
      await Promise.all(work);
      clearTimeout(timer);
    },
    abandon,
  };
}

/** One exchange over a new connection: some runtimes repeat a request by themselves if a kept connection loses it. */
const exchange = (url: string, headers: Record<string, string>, body?: string): Promise<Answer | undefined> =>
  new Promise((resolve) => {
    const sent = request(url, { method: body === undefined ? "GET" : "POST", headers, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => text += part)
        .on("end", () => resolve(answer.complete ? { status: answer.statusCode!, text } : undefined))
        .on("error", () => resolve(undefined))
        .on("close", () => resolve(undefined));
    });
    sent.setTimeout(requestTimeout, () => sent.destroy());
    sent.on("error", (error) => resolve("code" in error && error.code === "ECONNREFUSED" ? away : undefined)).on(
      "close",
      () => resolve(undefined),
    ).end(body);
  });
