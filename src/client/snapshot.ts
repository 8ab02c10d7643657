// The snapshot: the last prompts that the service gave, kept where a new process finds them while the service is away.
import { toClientError } from "./errors.ts";
import type { Events } from "./events.ts";
import { newUuid } from "./record.ts";
import type { ServedPrompt } from "./shapes.ts";

/** Keeps the text of a snapshot. `load` gives what was saved last, or nothing. */
export type SnapshotStore = {
  load(): Promise<string | null | undefined> | string | null | undefined;
  save(text: string): Promise<void> | void;
};

export type Snapshot = {
  /** The prompt that was kept for what was asked for, if there is one. */
  find(deployId: string): Promise<ServedPrompt | undefined>;
  /** Keeps a prompt that was read at a moment (Unix ms), or with undefined keeps none. */
  set(deployId: string, prompt: ServedPrompt | undefined, at: number): void;
  /** Resolves when all is saved. */
  settled(): Promise<void>;
};

/** Without `prompt` the service has refused it: an older copy of another process must not bring it back. */
type Entry = { at: number; prompt?: ServedPrompt | undefined };
type Saved = { url: string; prompts: Record<string, Entry> };

/** A snapshot in a store; without one it keeps nothing. `url` tells the prompts of several services apart. */
export function createSnapshot(
  store: SnapshotStore | undefined,
  url: string,
  { emit }: Events,
): Snapshot {
  const prompts: Saved["prompts"] = {};
  let loading: Promise<void> | undefined;
  let saving = Promise.resolve();
  let isChanged = false;

  const tell = (error: unknown) => emit("error", { error: toClientError(error, "snapshot_failed") });

  /** Takes over what is newer in the store. Several processes may share it. */
  async function load(): Promise<void> {
    const saved = JSON.parse(await store!.load() || "{}") as Partial<Saved>;
    if (saved.url !== url) return;
    for (const [deployId, entry] of Object.entries(saved.prompts!)) {
      if (!(prompts[deployId]?.at! >= entry.at)) prompts[deployId] = entry;
    }
  }

  async function save(): Promise<void> {
    if (!isChanged) return;
    isChanged = false;
    await load().catch(tell);
    await store!.save(JSON.stringify({ url, prompts }));
  }

  return {
    async find(deployId) {
      if (store) await (loading ??= load().catch(tell));
      return prompts[deployId]?.prompt;
    },
    set(deployId, prompt, at) {
      if (!store) return;
      prompts[deployId] = { at, prompt };
      isChanged = true;
      saving = saving.then(save).catch(tell);
    },
    settled: () => saving,
  };
}

type FileSystem = typeof import("node:fs/promises");

/** Keeps a snapshot in a file that only its owner may read. It is replaced as a whole. */
export function fileStore(path: string): SnapshotStore {
  // Bundlers for browsers would look for the module if they saw its name in the import.
  const name = "node:fs/promises";
  const open = (): Promise<FileSystem> => import(/* webpackIgnore: true */ /* @vite-ignore */ name);
  return {
    // What cannot be read is told once it cannot be replaced either.
    load: async () => await (await open()).readFile(path, "utf8").catch(() => null),
    async save(text) {
      const { writeFile, rename, rm } = await open();
      const part = `${path}.${newUuid(0)}.part`;
      try {
        await writeFile(part, text, { mode: 0o600, flush: true });
        await rename(part, path);
      } finally {
        await rm(part, { force: true });
      }
    },
  };
}
