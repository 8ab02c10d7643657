// Maps whose values are made when they are first needed.

/** The value of a key, which is created if there is none. */
export function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const value = create();
  map.set(key, value);
  return value;
}
