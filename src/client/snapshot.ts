// The snapshot: the last prompts that the service gave, kept where a new process finds them while the service is away. Only clients
// that have one load this file. So it imports nothing that the client has.
import type { ServedPrompt } from "./shapes.ts";

/** Keeps the text of a snapshot. `load` gives what was saved last, or nothing. */
export type SnapshotStore = {
  load(): Promise<string | null | undefined> | string | null | undefined;
  save(text: string): Promise<void> | void;
};

export type Snapshot = {
  /** What was kept for what was asked for, which may be anything. */
  find(deployId: string): Promise<ServedPrompt | undefined>;
  /** Keeps a prompt that was read so many ms ago, or without one keeps none. */
  set(deployId: string, age: number, prompt?: ServedPrompt): void;
  /** Resolves when all is saved. */
  close(): Promise<void>;
};

/** Without `prompt` the service has refused it: an older copy of another process must not bring it back. */
type Entry = { at: number; prompt?: ServedPrompt | undefined };
type Entries = Record<string, Entry>;

const maxEntries = 1_000;

/**
 * A snapshot in a store, or in a file. `owner` tells the prompts of several services and keys apart. `now` gives Unix ms, and
 * `tell` gets what fails.
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

  /** When an entry was made. One from the future counts as the oldest: a clock that was ahead has made it. */
  const timeOf = ({ at }: Entry = {} as Entry): number => at > now() ? -1 : at;

  /** Takes over what is newer in the store, which several processes may share, and gives its text. */
  const load = async (): Promise<string> => {
    const text = await store.load() || '{"entries":{}}';
    for (const [name, entry] of Object.entries((JSON.parse(text) as { entries?: Entries }).entries ?? {})) {
      if (!(timeOf(entries[name]) >= timeOf(entry))) entries[name] = entry;
    }
    return text;
  };

  /** Brings the store up to date with what this process knows, and with a change. */
  const save = (deployId?: string, change?: Entry): Promise<void> =>
    saving = saving.then(async () => {
      const found = await load().catch(tell);
      const name = owner + deployId, known = entries[name] ?? entries[deployId!];
      // A name that neither the service has ever known nor a bundle leaves no trace.
      if (change && !(timeOf(known) > change.at) && (known || change.prompt)) entries[name] = change;
      const newest = Object.entries(entries).sort(([, one], [, other]) => timeOf(other) - timeOf(one))
        .filter(([, { at }], nth) => !at || nth < maxEntries); // a bundle stays whole
      entries = Object.fromEntries(newest);
      const text = JSON.stringify({ entries });
      if (text !== found) await store.save(text);
    }).catch(tell);

  return {
    // A bundle that was written for all clients has neither a service nor a key.
    find: (deployId) =>
      (loading ??= load().catch(tell)).then(() => (entries[owner + deployId] ?? entries[deployId])?.prompt),
    set: (deployId, age, prompt) => void save(deployId, { at: now() - age, prompt }),
    // Another process that saved at the same moment may have overwritten what this one had saved.
    close: save,
  };
};

type FileSystem = typeof import("node:fs/promises");

/** Keeps a snapshot in a file that only its owner may read. It is replaced as a whole. */
const fileStore = (path: string): SnapshotStore => {
  // Bundlers for browsers would look for the module if they saw its name in the import.
  const name = "node:fs/promises";
  const open = (): Promise<FileSystem> => import(/* webpackIgnore: true */ /* @vite-ignore */ name);
  return {
    // What cannot be read is told once it cannot be replaced either.
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
