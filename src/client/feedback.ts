// Feedback on records: what is given, what names its record, and tokens with which pages give it.
import { makeFeedbackToken } from "../common/feedback-token.ts";
import { hashApiKey } from "../common/ids.ts";
import { invalidArgument } from "./errors.ts";
import { longTokenDays, tokenDays } from "./limits.ts";
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

const longestToken = 3_048; // characters, as the service reads them

/** Makes a token for a record. Rejects with a PromptLedgerError if it could not be used. */
export const makeToken = async (
  apiKey: string | undefined,
  { id, record = id }: Target,
  { names, expires, author: given }: FeedbackTokenOptions,
  now: number,
): Promise<string> => {
  const author = String(given ?? "");
  const need = (isGiven: unknown, message: string): void => {
    if (!isGiven) throw invalidArgument(message);
  };
  const at = expires instanceof Date ? +expires : now + expires;
  const days = id ? longTokenDays : tokenDays;
  need(apiKey, "A feedback token needs an apiKey");
  need(record, "The mask left out the record");
  need(at > now && at - now <= days * 86_400_000, `expires must be within ${days} days`);
  need(
    Array.isArray(names) && names[0] && names.every((name) => /^[^\W_][\w.-]{0,63}$/.test(name)),
    "names must be names of feedback",
  );
  need(/^\P{Cc}{0,128}$/u.test(author), "author must be at most 128 characters without control characters");
  const grant = { record: id ?? record!, names: names.map(String), author, expires: Math.ceil(at / 1000) };
  const token = await makeFeedbackToken(await hashApiKey(apiKey!), grant);
  need(token.length <= longestToken, "names and author are too long for a token");
  return token;
};
