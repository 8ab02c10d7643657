// Pages that take long: the response begins before the page is ready, shows the progress of the work in steps, and ends
// with the page. This needs no script. The style hides each step when the next one arrives, and the last one when the
// page arrives.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { ErrorKind } from "../../common/errors.ts";
import { withTimeout } from "../../common/timeout.ts";
import { unbuffered } from "../../faces/long-answer.ts";
import { streamed } from "../../http/respond.ts";
import type { Answer } from "../../http/respond.ts";
import { pageAnswer, pageHeaders } from "./safety.ts";
import { h, toHtml } from "./html.ts";
import { documentOf, readyPart, waitingPart } from "./layout.tsx";
import type { FramedView } from "./layout.tsx";
import { percent } from "../../management/kernel/progress.ts";

/** The progress of the work for a page: what it reported last, and whether the reader of the page has left. */
export type Progress = { words: string; share?: number | undefined; hasLeft: boolean };

export const createProgress = (): Progress => ({ words: "Still reading", hasLeft: false });

/** The progress of a page of which one operation is a part. */
export function partOf(part: readonly [from: number, to: number] | undefined, words: string, share?: number) {
  if (part === undefined || share === undefined) return { words, share };
  const whole = part[0] + (part[1] - part[0]) * share;
  return { words: `Read ${percent(whole)}`, share: whole };
}

/** Wait for the page before a response begins, and the minimum time between two of its steps, in ms. */
export type Pace = { quietMs: number; stepMs: number };

/** A page that is being made. `onRefused` is called if the page is refused after the response has begun. */
type Pending = { view: Promise<FramedView>; root: string; progress: Progress; onRefused(kind: ErrorKind): void };

/** Answers with a page if it is ready in time, else with its progress and then the page. */
export async function answerSoon(pending: Pending, { quietMs, stepMs }: Pace): Promise<Answer> {
  const { view, root, progress } = pending;
  const ready = await within(quietMs, view);
  if (ready !== undefined) return pageAnswer(documentOf(root, ready), ready.kind);
  const headers = { ...pageHeaders(), ...unbuffered() };
  return streamed(partsOf(pending, stepMs), headers, () => void (progress.hasLeft = true));
}

/** The view if it is ready in time, else undefined. */
const within = (ms: number, view: Promise<FramedView>) =>
  withTimeout<FramedView | undefined>(ms, view, () => undefined);

async function* partsOf({ view, root, progress, onRefused }: Pending, stepMs: number): AsyncGenerator<string> {
  yield waitingPart(root);
  let ready: FramedView | undefined, shown: string | undefined;
  while (ready === undefined) {
    // If nothing has changed, a space keeps the connection open.
    const step = progress.words === shown ? " " : stepOf(progress);
    shown = progress.words;
    yield step;
    ready = await within(stepMs, view);
  }
  if (ready.kind !== undefined) onRefused(ready.kind);
  yield readyPart(ready);
}

const stepOf = ({ words, share }: Progress): string =>
  toHtml(
    <p class="step">
      <label>
        {words}
        <progress max="1" value={share?.toFixed(2)}></progress>
      </label>
    </p>,
  );
