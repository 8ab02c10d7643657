// Maps whose values are created on demand.

/** Returns the value of a key, which is created if missing. */
export function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const value = create();
  map.set(key, value);
  return value;
}
