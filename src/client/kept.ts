// Opens the snapshot of prompts, if there is one. Its module is loaded on first use.
import { toClientError } from "./errors.ts";
import type { Events } from "./events.ts";
import type { Snapshot, SnapshotStore } from "./snapshot.ts";

/** Runs `act` on the snapshot, opened the first time. Does nothing without a path or a store. Never rejects. */
export type UseSnapshot = <T>(act: (snapshot: Snapshot) => Promise<T> | T) => Promise<T | undefined>;

export const openSnapshot = (
  kept: string | SnapshotStore | undefined,
  owner: string,
  now: () => number,
  { emit }: Events,
): UseSnapshot => {
  let opening: Promise<Snapshot> | undefined;
  const tell = (error: unknown) => emit("error", { error: toClientError(error, "snapshot_failed") });

  return async <T>(act: (snapshot: Snapshot) => Promise<T> | T): Promise<T | undefined> => {
    if (!kept) return undefined;
    opening ??= import("./snapshot.ts").then(({ createSnapshot }) => createSnapshot(kept, owner, now, tell));
    return await opening.then(act).catch(tell) as T | undefined;
  };
};
