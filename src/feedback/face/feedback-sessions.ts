// Searches for the records of sessions that feedback is about. Reads on the reader thread, if there is one, and limits
// each workspace to its share.
import * as errors from "../../common/errors.ts";
import { createSlots } from "../../support/slots.ts";
import { after } from "../../common/timeout.ts";
import { readingAside, readsAside } from "../../database/database.ts";
import { yielding } from "../../database/yielding.ts";
import type { Target } from "../feedback-state.ts";
import { findNewestOfSessions } from "../feedback-sessions.ts";
import type { Session } from "../feedback-sessions.ts";
import type { RequestContext } from "../../http/context.ts";
import type { FaceHost } from "../../http/face.ts";
import type { Bearer } from "./feedback-bearers.ts";
import { untilGone } from "../../faces/long-work.ts";

/** Finds the newest record of each session, or a refusal for it. */
export type FindSessions = (
  ctx: RequestContext,
  bearer: Bearer,
  sessions: readonly Session[],
) => Promise<(Target | errors.Refusal)[]>;

const maxSearches = 4; // at once, of which one workspace gets half
const slotTimeout = 5_000; // ms that searches wait for a slot
const searchTime = 5_000; // ms

export function createSessionSearch({ database, clock }: Pick<FaceHost, "database" | "clock">): FindSessions {
  const slots = createSlots(maxSearches, slotTimeout, errors.searchesOverloaded);
  // Searches on the serving connection pause between slices for other requests.
  const aside = readingAside(database), searched = readsAside(aside) ? aside : yielding(aside);

  return async ({ request, isGone }, { keyHash, workspaceId }, sessions) => {
    if (sessions.length === 0) return [];
    const leave = await slots.enter(workspaceId);
    try {
      const own = untilGone(searched, () => request.signal.aborted || isGone?.() === true);
      const result = await findNewestOfSessions(own, { keyHash, now: clock() }, sessions, after(searchTime));
      if (result.refusal !== undefined) return sessions.map(() => refusals[result.refusal]());
      return sessions.map(({ sessionId }, place) => {
        const position = result.positions.get(place);
        if (position !== undefined) return { position };
        return result.isComplete
          ? errors.notFound("Record", `of session ${sessionId}`)
          : errors.searchTimedOut(sessionId, searchTime);
      });
    } finally {
      leave();
    }
  };
}

const refusals = { key_invalid: errors.invalidApiKey, feedback_forbidden: errors.feedbackForbidden };
