// Watches which versions are live. Asking costs nothing, so a prompt is read, and paid for, only once it has changed.
import type { PromptLedgerError } from "./errors.ts";
import type { Events } from "./events.ts";
import { longestWatchBackOff, restAfter } from "./limits.ts";
import type { Runtime } from "./runtime.ts";
import type { Revisions } from "./shapes.ts";
import type { Transport } from "./transport.ts";

/** The deployments that the key can see, by id and by reference. */
export type Live = Map<string, Revisions["deployments"][string] & { id: string }>;

type Watch = {
  /** A prompt was asked for: looks from now on, for as long as others are. */
  touch(): void;
  /** Looks now, unless that failed a moment ago. False if the service cannot tell what is live. */
  look(): boolean;
  stop(): void;
};

const isRevisions = ({ deployments }: Partial<Revisions>) =>
  deployments && Object.values(deployments).every((deployment) => deployment?.version > 0);

/**
 * A watch that looks before `interval` ms have passed, again and again, while prompts are asked for, or with 0 only when told to. `onLook` gets what is
 * live, as it was at a moment (Unix ms) or later, or why it failed.
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
    // Until then it is under way, or lost with the request of a Worker that began it.
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
      // A proxy may let nothing through but prompts.
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
      // What is promised after the interval includes the look and the read that follows it.
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
