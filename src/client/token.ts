// Creates feedback tokens for pages. Loaded with the first one, which a page never creates, so it imports nothing that
// the client contains.
import { makeFeedbackToken } from "../support/feedback-token.ts";
import { hashApiKey } from "../common/ids.ts";
import type { need } from "./errors.ts";
import type { FeedbackTokenOptions, Target } from "./feedback.ts";

/** Maximum lifetime of a token in days: before and after the id of the record is known. */
const tokenDays = 2, longTokenDays = 30;
const longestToken = 3_048; // characters, the service's limit

/** Creates a token for a record. Rejects with a PromptLedgerError, from `check`, if it would be unusable. */
export const makeToken = async (
  check: typeof need,
  apiKey: string | undefined,
  { id, record = id }: Target,
  { names, expires, author: given }: FeedbackTokenOptions,
  now: number,
): Promise<string> => {
  const author = String(given ?? "");
  const at = expires instanceof Date ? +expires : now + expires;
  const days = id ? longTokenDays : tokenDays;
  check(apiKey, "A feedback token needs an apiKey");
  check(record, "The mask left out the record");
  check(at > now && at - now <= days * 86_400_000, `expires must be within ${days} days`);
  check(
    Array.isArray(names) && names[0] && names.every((name) => /^[^\W_][\w.-]{0,63}$/.test(name)),
    "names must be names of feedback",
  );
  check(/^\P{Cc}{0,128}$/u.test(author), "author must be at most 128 characters without control characters");
  const grant = { record: id ?? record!, names: names.map(String), author, expires: Math.ceil(at / 1000) };
  const token = await makeFeedbackToken(await hashApiKey(apiKey!), grant);
  check(token.length <= longestToken, "names and author are too long for a token");
  return token;
};
