// A bounded cache that evicts the least recently used entry first.

export type Cache<V> = {
  get(key: string): V | undefined;
  /** Stores a value. `weight` counts towards the bound. */
  set(key: string, value: V, weight: number): void;
  delete(key: string): void;
  clear(): void;
};

/** Creates a cache whose values weigh at most `maxWeight` in total. It does not store a value heavier than that. */
export function createCache<V>(maxWeight: number): Cache<V> {
  // A Map keeps insertion order, so deleting and reinserting an entry makes it the newest.
  const entries = new Map<string, { value: V; weight: number }>();
  let total = 0;
  let newest: string | undefined; // its key

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
      if (entry === undefined || key === newest) return entry?.value;
      entries.delete(key);
      entries.set(key, entry);
      newest = key;
      return entry.value;
    },
    set(key, value, weight) {
      remove(key);
      if (weight > maxWeight) return;
      entries.set(key, { value, weight });
      newest = key;
      total += weight;
      for (const oldest of entries.keys()) {
        if (total <= maxWeight) break;
        remove(oldest);
      }
    },
  };
}
