// Watches which versions are live. Polling is free, so a prompt is read, and paid for, only once it has changed.
import type { PromptLedgerError } from "./errors.ts";
import type { Events } from "./events.ts";
import { longestWatchBackOff, restAfter } from "./limits.ts";
import type { Runtime } from "./runtime.ts";
import type { Revisions } from "../schema/shapes.ts";
import type { Transport } from "./transport.ts";

/** Deployments visible to the key, by id and by reference. */
export type Live = Map<string, Revisions["deployments"][string] & { id: string }>;

type Watch = {
  /** Starts polling, which goes on while prompts are requested. */
  touch(): void;
  /** Polls now, unless that failed a moment ago. False if the service cannot report what is live. */
  look(): boolean;
  stop(): void;
};

const isRevisions = ({ deployments }: Partial<Revisions>) =>
  deployments && Object.values(deployments).every((deployment) => deployment?.version > 0);

/**
 * Creates a watch that polls before `interval` ms have passed, repeatedly while prompts are requested, or with 0 only
 * by `look`. `onLook` receives the live deployments, as of a moment (Unix ms) or later, or the error.
 */
export const createWatch = (
  interval: number,
  timeout: number,
  onLook: (live: Live, at: number, error?: PromptLedgerError) => void,
  events: Events,
  { send, pauseAfter }: Transport,
  { now, startTimer }: Runtime,
): Watch => {
  let askedAt = 0, nextAt = 0, failures = 0;
  let isBlind: boolean | undefined;
  let cancelTimer: (() => void) | undefined;
  let tag: string | null;
  let live: Live = new Map();

  const ask = async (): Promise<void> => {
    // Until then the poll is in progress, or lost with the Worker request that began it.
    nextAt = now() + timeout;
    try {
      const [body, headers, sentAt] = await send<Revisions | undefined>(
        "/v1/revisions",
        timeout,
        isRevisions,
        { ...(tag && { "If-None-Match": tag }) },
      );
      if (body) {
        live = new Map();
        for (const [id, deployment] of Object.entries(body.deployments)) {
          const state = { id, ...deployment };
          live.set(id, state).set(state.reference, state);
        }
        tag = headers.get("ETag");
      }
      failures = nextAt = 0;
      isBlind = false;
      events.succeed("look");
      onLook(live, sentAt);
    } catch (thrown) {
      const error = thrown as PromptLedgerError;
      // A proxy may pass only reads of prompts.
      isBlind = error.retryable && error.status! < 500;
      nextAt = now() + pauseAfter(error, ++failures, longestWatchBackOff);
      onLook(live, 0, error);
      events.fail("look", error);
    }
  };

  const look = (): boolean => {
    if (now() >= nextAt) void ask();
    return !isBlind;
  };

  const schedule = (): void => {
    cancelTimer = startTimer(
      () => {
        cancelTimer = undefined;
        if (now() - askedAt > restAfter) return;
        schedule();
        look();
      },
      // The promised interval includes the poll and the read that follows it.
      interval * (0.8 + Math.random() / 10),
      false,
    );
  };

  return {
    look,
    touch() {
      askedAt = now();
      if (interval && !cancelTimer) schedule();
    },
    stop() {
      interval = 0;
      cancelTimer?.();
    },
  };
};
