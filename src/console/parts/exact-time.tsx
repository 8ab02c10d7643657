// Moments to the millisecond, for what is over within a minute.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { h } from "../html.ts";
import type { Part } from "../html.ts";

/** A moment in UTC to the millisecond. The script shows it in the reader's zone. */
export function exactTime(at: number): Part {
  if (Number.isNaN(new Date(at).getTime())) return String(at);
  const iso = new Date(at).toISOString();
  return <time datetime={iso} class="exact">{iso.replace("T", " ").replace("Z", "")} UTC</time>;
}
