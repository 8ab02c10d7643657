// Pages that are not ready soon: their answer begins, shows how far the work is, and ends with the page. This takes no script:
// the style hides each step that is followed by another one, and all of them once the page follows.
import type { ErrorKind } from "../common/errors.ts";
import { withTimeout } from "../common/timeout.ts";
import { streamed } from "../http/respond.ts";
import type { Answer } from "../http/respond.ts";
import { pageAnswer } from "./answers.ts";
import { markup } from "./html.ts";
import { documentOf, restOf, waitingOf } from "./parts/layout.ts";
import type { Sheet } from "./parts/layout.ts";
import { pageHeaders } from "./safety.ts";

/** How far the work for a page is: what was reported last, and whether its reader has left. */
export type Progress = { words: string; share?: number | undefined; hasLeft: boolean };

export const createProgress = (): Progress => ({ words: "Still reading", hasLeft: false });

/** When an answer begins if its page is not ready, and how long each of its steps is shown at least. In ms. */
export type Pace = { quietMs: number; stepMs: number };

/** A page that is being made. `onRefused` is called if it is refused after its answer has begun. */
type Pending = { sheet: Promise<Sheet>; root: string; progress: Progress; onRefused(kind: ErrorKind): void };

/** Answers with a page, or with how far it is, and then the page. */
export async function answerSoon(pending: Pending, { quietMs, stepMs }: Pace): Promise<Answer> {
  const { sheet, root, progress } = pending;
  const ready = await within(quietMs, sheet);
  if (ready !== undefined) return pageAnswer(documentOf(root, ready), ready.kind);
  // A proxy such as nginx would keep the steps until the page is complete.
  const headers = { ...pageHeaders(), "X-Accel-Buffering": "no" };
  return streamed(partsOf(pending, stepMs), headers, () => void (progress.hasLeft = true));
}

/** A page if it is ready in time. */
const within = (ms: number, sheet: Promise<Sheet>) => withTimeout<Sheet | undefined>(ms, sheet, () => undefined);

async function* partsOf({ sheet, root, progress, onRefused }: Pending, stepMs: number): AsyncGenerator<string> {
  yield waitingOf(root);
  let ready: Sheet | undefined, shown: string | undefined;
  while (ready === undefined) {
    // Where there is no news, a space keeps the connection open.
    yield progress.words === shown ? " " : stepOf(progress);
    shown = progress.words;
    ready = await within(stepMs, sheet);
  }
  if (ready.kind !== undefined) onRefused(ready.kind);
  yield restOf(ready);
}

const stepOf = ({ words, share }: Progress): string =>
  markup`<p class="step"><label>${words}<progress max="1"${
    share !== undefined && markup` value="${share.toFixed(2)}"`
  }></progress></label></p>`.toString();
