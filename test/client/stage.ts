// A client on a virtual clock, and the real service in process behind a network that can be cut. Nothing waits in real time.
import { setImmediate } from "node:timers/promises";
import { createClientOn } from "../../src/client/client.ts";
import type { Client } from "../../src/client/client.ts";
import type { ClientEvents } from "../../src/client/events.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import type { Runtime } from "../../src/client/runtime.ts";
import type { SnapshotStore } from "../../src/client/snapshot.ts";
import { loadRefusals } from "../../src/client/transport.ts";
import { promoteDeployment, pushPrompt } from "../actions.ts";
import { createWorld, promptFile, toPrompt } from "../helpers.ts";
import type { World } from "../helpers.ts";

type VirtualClock = {
  now: number;
  /** Whether a client has a snapshot, whose file it loads in real time. */
  hasSnapshot: boolean;
  runtime: Runtime;
  /** Waits until no exchange is under way. */
  settle(): Promise<void>;
  /**
   * Lets time pass: timers fire in their order, and what they begin is settled before the next one. With less than 0, sets the
   * clock back.
   */
  pass(ms: number): Promise<void>;
  /** Counts as under way, until it has settled. */
  follow<T>(promise: Promise<T>): Promise<T>;
  /** The response, whose body was read meanwhile. */
  followBody(response: Response): Promise<Response>;
  /** A store for the snapshot of one client. Until that has asked for it, it may be loading the file. */
  followStore(store: SnapshotStore): SnapshotStore;
  /** Forgets all timers. */
  forget(): void;
  /** The timers that have not fired, by whether they keep a process from ending. */
  timers(): { held: number; others: number };
};

// The client loads it in real time.
await loadRefusals();

type Timer = { at: number; call: () => void; held: boolean };

export function createClock(start: number): VirtualClock {
  const timers = new Set<Timer>();
  const unopened = new Set<SnapshotStore>();
  let underWay = 0;

  const idle = async () => {
    do await setImmediate(); while (underWay > 0);
  };

  const clock: VirtualClock = {
    now: start,
    hasSnapshot: false,
    runtime: {
      now: () => clock.now,
      startTimer(call, ms, held) {
        const timer = { at: clock.now + Math.ceil(ms), call, held };
        timers.add(timer);
        return () => void timers.delete(timer);
      },
      env: () => undefined,
      hasTimers: true,
    },
    async settle() {
      await idle();
      if (clock.hasSnapshot || unopened.size > 0) {
        // What a client has asked to load by now is there before this.
        await import("../../src/client/snapshot.ts");
        await idle();
      }
      await setImmediate();
    },
    async pass(ms) {
      const end = clock.now + ms;
      // Timers of a runtime do not follow a clock that is set back.
      if (ms < 0) timers.forEach((timer) => timer.at += ms);
      await clock.settle();
      for (;;) {
        let next: Timer | undefined;
        for (const timer of timers) if (timer.at <= end && timer.at < (next?.at ?? Infinity)) next = timer;
        if (next === undefined) break;
        timers.delete(next);
        clock.now = Math.max(clock.now, next.at);
        next.call();
        await clock.settle();
      }
      clock.now = end;
    },
    async follow(promise) {
      underWay++;
      try {
        return await promise;
      } finally {
        underWay--;
      }
    },
    async followBody(response) {
      const { status, headers } = response;
      const bytes = await clock.follow(response.arrayBuffer());
      return new Response(bytes.byteLength > 0 ? bytes : null, { status, headers });
    },
    followStore({ load, save }) {
      const store: SnapshotStore = {
        load() {
          unopened.delete(store);
          return load();
        },
        save,
      };
      unopened.add(store);
      return store;
    },
    forget: () => timers.clear(),
    timers() {
      const held = [...timers].filter((timer) => timer.held).length;
      return { held, others: timers.size - held };
    },
  };
  return clock;
}

/** What becomes of a request: it reaches the service by `pass`, or is dealt with otherwise. */
export type Network = (request: Request, pass: () => Promise<Response>) => Promise<Response>;

export const up: Network = (_, pass) => pass();
export const refused: Network = () => Promise.reject(new TypeError("fetch failed", { cause: new Error("refused") }));
export const silent: Network = () => new Promise(() => {});
export const answering = (status: number, body: unknown, headers: Record<string, string> = {}): Network => () =>
  Promise.resolve(new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers }));

/** The answers of odd.json, which come from something between a client and the service. */
export type Odd = {
  statuses: number[];
  headers: Record<string, Record<string, string>>;
  bodies: Record<string, string>;
};

/** A response with a status and a text, which some statuses do not have. */
export const textResponse = (status: number, text: string, headers: Record<string, string> = {}): Response =>
  new Response([204, 205, 304].includes(status) ? null : text, { status, headers });

/** One of the odd answers. `random` gives numbers from 0 to below 1. */
export function oddResponse({ statuses, headers, bodies }: Odd, random: () => number): Response {
  const pick = <T>(values: T[]): T => values[Math.floor(random() * values.length)]!;
  return textResponse(pick(statuses), pick(Object.values(bodies)), pick(Object.values(headers)));
}

/** How the requests are called in tests. */
export const names: Record<string, string> = {
  "GET /v1/prompts": "read",
  "GET /v1/revisions": "look",
  "POST /v1/diagnosis": "submit",
  "POST /v1/diagnoses": "batch",
  "POST /v1/feedback": "feedback",
};

type Told = { [Name in keyof ClientEvents]: ClientEvents[Name] & { event: Name } }[keyof ClientEvents];

export type Stage = {
  world: World;
  clock: VirtualClock;
  client: Client;
  network: Network;
  /** The requests that were sent since this was last called, by name. */
  sent(): string[];
  /** The events since this was last called. */
  told(): Told[];
  /** Another client of the same world. */
  connect(options?: ClientOptions): Client;
  /** Makes another version live: one more message says which. */
  promote(): Promise<void>;
  ask(fallback?: boolean): Promise<[source: string, version: number]>;
  pass(ms: number): Promise<void>;
};

export const reference = "greeting@production";

export const fallback = { messages: [{ role: "system", content: "Say hello to {{name}}" }] };

/** A world with a client whose key and fetch are those of the world. */
export async function createStage(options: ClientOptions = {}, monthlyLimit = 1000): Promise<Stage> {
  const world = await createWorld({ monthlyLimit, maxBodyBytes: 1024 * 1024 });
  const clock = createClock(world.now);
  Object.defineProperty(world, "now", { get: () => clock.now });
  const log: string[] = [];
  const events: Told[] = [];
  let versions = 1;

  function send(request: Request): Promise<Response> {
    log.push(names[`${request.method} ${new URL(request.url).pathname}`] ?? request.url);
    return stage.network(request, async () => await clock.followBody(await clock.follow(world.fetch(request))));
  }

  function connect(more: ClientOptions = {}): Client {
    clock.hasSnapshot ||= more.snapshot !== undefined;
    const client = createClientOn(clock.runtime, { apiKey: world.key, fetch: send, ...more });
    for (const event of ["change", "stale", "error", "recover", "drop"] as const) {
      client.on(event, (told) => events.push({ event, ...told } as Told));
    }
    return client;
  }

  const stage: Stage = {
    world,
    clock,
    client: connect(options),
    network: up,
    sent: () => log.splice(0),
    told: () => events.splice(0),
    connect,
    async promote() {
      const messages = [...promptFile.messages, { role: "user", content: `Version ${++versions}` }];
      const { version } = await pushPrompt(world.admin, world.promptId, toPrompt({ ...promptFile, messages }));
      await promoteDeployment(world.admin, world.deployId, { version });
    },
    async ask(hasFallback = false) {
      const { source, version } = await stage.client.prompt(reference, hasFallback ? { fallback } : {});
      return [source, version];
    },
    pass: clock.pass,
  };
  return stage;
}
