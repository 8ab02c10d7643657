// Reports of the share of the log that long operations have read.
import type { Session } from "./operation.ts";

/** Formats a share, such as 0.5, for people. */
export const percent = (share: number): string => `${Math.round(100 * share)} %`;

/**
 * Makes a function that reports the share of the log that has been read. A bound caller gets each tenth, because finer steps
 * would tell how long the log of all workspaces is.
 */
export function reportShare({ report, caller }: Session, toWords: (percent: string) => string) {
  const reportOne = (share: number): void => report?.(toWords(percent(share)), share);
  let tenths = 0;
  return caller.workspaceId === undefined ? reportOne : (share: number): void => {
    while (tenths < Math.floor(10 * share)) reportOne(++tenths / 10);
  };
}

/** Reports in the usual words. `suffix` names what is read, such as ` of the first`. */
export const reportRead = (session: Session, suffix = "") =>
  reportShare(session, (percent) => `Read ${percent}${suffix}`);

/** Reports for a search that ends when a page is full. A bound caller gets none: the share depends on what others fill. */
export const reportSearch = (session: Session) =>
  session.caller.workspaceId === undefined ? reportRead(session) : undefined;
