// A bounded cache: what was used least recently goes first.

export type Cache<V> = {
  get(key: string): V | undefined;
  /** Keeps a value; `weight` is what it counts towards the bound. */
  set(key: string, value: V, weight: number): void;
  delete(key: string): void;
  clear(): void;
};

/** A cache whose values weigh `most` in all, at most; a value that is heavier by itself is not kept. */
export function createCache<V>(most: number): Cache<V> {
  // A Map remembers the order of insertion, so taking an entry out and putting it back makes it the newest.
  const entries = new Map<string, { value: V; weight: number }>();
  let total = 0;

  function remove(key: string): void {
    total -= entries.get(key)?.weight ?? 0;
    entries.delete(key);
  }

  return {
    delete: remove,
    clear() {
      entries.clear();
      total = 0;
    },
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, weight) {
      remove(key);
      if (weight > most) return;
      entries.set(key, { value, weight });
      total += weight;
      for (const oldest of entries.keys()) {
        if (total <= most) break;
        remove(oldest);
      }
    },
  };
}
