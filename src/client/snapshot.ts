// The snapshot: the last prompts served, kept for a process that starts while the service is unavailable. Only clients
// that have one load this file, so it imports nothing that the client contains.
import type { ServedPrompt } from "../schema/shapes.ts";

/** Stores the text of a snapshot. `load` returns the text saved last, or nothing. */
export type SnapshotStore = {
  load(): Promise<string | null | undefined> | string | null | undefined;
  save(text: string): Promise<void> | void;
};

export type Snapshot = {
  /** Finds the prompt kept for an id or reference. Its shape is unchecked. */
  find(deployId: string): Promise<ServedPrompt | undefined>;
  /** Keeps a prompt that was read `age` ms ago. Without one, marks it as refused. */
  set(deployId: string, age: number, prompt?: ServedPrompt): void;
  /** Resolves when everything is saved. */
  close(): Promise<void>;
};

/** Without `prompt`, the service refused it: an older copy of another process must not restore it. */
type Entry = { at: number; prompt?: ServedPrompt | undefined };
type Entries = Record<string, Entry>;

const maxEntries = 1_000;

/**
 * Creates a snapshot in a store or a file. `owner` separates the prompts of several services and keys. `now` returns
 * Unix ms, and `tell` receives errors.
 */
export const createSnapshot = (
  kept: string | SnapshotStore,
  owner: string,
  now: () => number,
  tell: (error: unknown) => void,
): Snapshot => {
  const store = typeof kept === "string" ? fileStore(kept) : kept;
  let entries: Entries = {};
  let loading: Promise<unknown> | undefined;
  let saving = Promise.resolve();

  /** Time of an entry. One in the future, from a clock that was ahead, counts as the oldest. */
  const timeOf = ({ at }: Entry = {} as Entry): number => at > now() ? -1 : at;

  /** Merges newer entries from the store, which several processes may share. Returns the store's text. */
  const load = async (): Promise<string> => {
    const text = await store.load() || '{"entries":{}}';
    for (const [name, entry] of Object.entries((JSON.parse(text) as { entries?: Entries }).entries ?? {})) {
      if (!(timeOf(entries[name]) >= timeOf(entry))) entries[name] = entry;
    }
    return text;
  };

  /** Updates the store with the entries of this process, and with a change. */
  const save = (deployId?: string, change?: Entry): Promise<void> =>
    saving = saving.then(async () => {
      const found = await load().catch(tell);
      const name = owner + deployId, known = entries[name] ?? entries[deployId!];
      // Names that neither the service nor a bundle has ever known are not stored.
      if (change && !(timeOf(known) > change.at) && (known || change.prompt)) entries[name] = change;
      const newest = Object.entries(entries).sort(([, one], [, other]) => timeOf(other) - timeOf(one))
        .filter(([, { at }], nth) => !at || nth < maxEntries); // keeps bundles whole
      entries = Object.fromEntries(newest);
      const text = JSON.stringify({ entries });
      if (text !== found) await store.save(text);
    }).catch(tell);

  return {
    // The entries of a bundle for all clients have no owner.
    find: (deployId) =>
      (loading ??= load().catch(tell)).then(() => (entries[owner + deployId] ?? entries[deployId])?.prompt),
    set: (deployId, age, prompt) => void save(deployId, { at: now() - age, prompt }),
    // Another process that saved at the same moment may have overwritten this one's entries.
    close: save,
  };
};

type FileSystem = typeof import("node:fs/promises");

/** Stores a snapshot in a file that only its owner may read, and that is replaced atomically. */
const fileStore = (path: string): SnapshotStore => {
  // Bundlers for browsers would resolve the module if its name were in the import.
  const name = "node:fs/promises";
  const open = (): Promise<FileSystem> => import(/* webpackIgnore: true */ /* @vite-ignore */ name);
  return {
    // An unreadable file is reported only if it cannot be replaced either.
    load: async () => await (await open()).readFile(path, "utf8").catch(() => null),
    async save(text) {
      const { writeFile, rename, rm } = await open();
      const part = `${path}.${crypto.randomUUID()}.part`;
      try {
        await writeFile(part, text, { mode: 0o600, flush: true });
        await rename(part, path);
      } finally {
        await rm(part, { force: true });
      }
    },
  };
};
