// Durations for people.

const units = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "m"]] as const; // ms

/** A duration as options of the command line take it: `90d`, `12h`, `15m`, or else whole seconds: `45s`. */
export function durationText(ms: number): string {
  const [length, unit] = units.find(([length]) => ms >= length && ms % length === 0) ?? [1000, "s"] as const;
  return `${Math.ceil(ms / length)}${unit}`;
}

/** An age in its largest unit: `3d`, `2h`, `10m`, `0s`. */
export function ageText(ms: number): string {
  const [length, unit] = units.find(([length]) => ms >= length) ?? [1000, "s"] as const;
  return `${Math.floor(ms / length)}${unit}`;
}
