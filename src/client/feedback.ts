// Feedback on records: what is given, and what names its record.
import type { FeedbackItem } from "./shapes.ts";

/** Feedback on a record. Another `value` of the same name and author replaces it, and null withdraws it. */
export type GivenFeedback = Omit<FeedbackItem, "record" | "sessionId" | "deployId">;

/** What a token permits, and until when. */
export type FeedbackTokenOptions = {
  /** The names of feedback. */
  names: readonly string[];
  /** In how many ms it expires, or when: within 2 days, and within 30 once the record is known to be stored. */
  expires: number | Date;
  /** Whose feedback it is. Default: empty, one voice for the record. */
  author?: string;
};

/** A record, as feedback is about it. */
export type Target = {
  /** What stays the same when its id becomes known. */
  about: string;
  /** Its idempotency key, or what the application names it by; undefined if the mask has left it out. */
  record: string | undefined;
  /** Its id, once the service has stored it. */
  id?: string;
};
