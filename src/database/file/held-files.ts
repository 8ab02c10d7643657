// Descriptors of a served file and its index, in addition to SQLite's own. When a process closes any descriptor of a
// file, the system frees all locks that the process has on it. SQLite does not notice, and another process can then
// claim the file. So a descriptor is closed only when no connection can be left, and is shared if the file is opened
// before.
import { closeSync, fstatSync, openSync, statSync } from "node:fs";
import { setTimeout } from "node:timers";

export type HeldFile = {
  readonly descriptor: number;
  /** Releases the descriptor. It is closed after `gone`, unless others hold it. */
  release(gone: Promise<void>): void;
};

// Shared by all copies of this module in a thread, as the locks are.
const registryKey = Symbol.for("promptledger.held-files");
const held: Map<string, { descriptor: number; holders: number }> = Reflect.get(globalThis, registryKey) ?? new Map();
Reflect.set(globalThis, registryKey, held);

const restMs = 1_000; // for a garbage-collected connection to close its own descriptors

/** Opens a file for reading, or returns the descriptor by which this thread has it open. */
export function holdFile(path: string): HeldFile {
  const known = held.get(keyOf(statSync(path, { bigint: true })));
  const descriptor = known?.descriptor ?? openSync(path, "r");
  const key = keyOf(fstatSync(descriptor, { bigint: true }));
  const file = known ?? { descriptor, holders: 0 };
  held.set(key, file);
  file.holders++;

  function close(): void {
    if (--file.holders > 0) return;
    held.delete(key);
    closeSync(descriptor);
  }

  return { descriptor, release: (gone) => void gone.then(() => setTimeout(close, restMs).unref()) };
}

const keyOf = ({ dev, ino }: { dev: bigint; ino: bigint }) => `${dev} ${ino}`;

const registry = new FinalizationRegistry<() => void>((resolve) => resolve());

/** Resolves once an object was garbage-collected, and with it everything that it alone referred to. */
export const collected = (object: object): Promise<void> =>
  new Promise((resolve) => registry.register(object, resolve));
