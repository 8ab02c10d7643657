// Types of feedback on records.
import type { FeedbackItem } from "../schema/shapes.ts";

/** Feedback on a record. A later `value` of the same name and author replaces it, and null withdraws it. */
export type GivenFeedback = Omit<FeedbackItem, "record" | "sessionId" | "deployId">;

/** Permissions and expiry of a feedback token. */
export type FeedbackTokenOptions = {
  /** Names of the permitted feedback. */
  names: readonly string[];
  /** Lifetime in ms, or time of expiry: within 2 days, or 30 days once the record is known to be stored. */
  expires: number | Date;
  /** Author of the feedback. Default: empty, one voice for the record. */
  author?: string;
};

/** The record that feedback is about. */
export type Target = {
  /** Stable key, unchanged when the id becomes known. */
  about: string;
  /** Its idempotency key, or the application's name for it; undefined if the mask removed the record. */
  record: string | undefined;
  /** Its id, once the service has stored it. */
  id?: string;
};
