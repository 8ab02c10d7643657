// What is kept of prompts: nothing, or a snapshot, whose file is loaded once there is something to keep or to find.
import { toClientError } from "./errors.ts";
import type { Events } from "./events.ts";
import type { Snapshot, SnapshotStore } from "./snapshot.ts";

/** A snapshot that is opened when it is used first. Without a path or a store it keeps nothing. Its functions never reject. */
export const openSnapshot = (
  kept: string | SnapshotStore | undefined,
  owner: string,
  { emit }: Events,
): Snapshot => {
  let opening: Promise<Snapshot> | undefined;
  const tell = (error: unknown) => emit("error", { error: toClientError(error, "snapshot_failed") });

  const use = async <T>(act: (snapshot: Snapshot) => Promise<T> | T): Promise<T | undefined> => {
    if (!kept) return undefined;
    opening ??= import("./snapshot.ts").then(({ createSnapshot }) => createSnapshot(kept, owner, tell));
    return await opening.then(act).catch(tell) as T | undefined;
  };

  return {
    find: (deployId) => use((snapshot) => snapshot.find(deployId)),
    set: (...change) => void use((snapshot) => snapshot.set(...change)),
    close: () => use((snapshot) => snapshot.close()),
  };
};
