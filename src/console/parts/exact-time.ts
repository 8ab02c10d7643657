// Moments to the millisecond, for what is over within a minute.
import { time } from "../format.ts";
import { markup } from "../html.ts";
import type { Part } from "../html.ts";

/** A moment in UTC to the millisecond. The script shows it in the reader's zone. */
export function exactTime(at: number): Part {
  if (Number.isNaN(new Date(at).getTime())) return time(at);
  const iso = new Date(at).toISOString();
  return markup`<time datetime="${iso}" class="exact">${iso.replace("T", " ").replace("Z", "")} UTC</time>`;
}
