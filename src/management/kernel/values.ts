// Rules of single values in management, in addition to those of the data plane.
import type { DeploymentId, PromptId, RolloutId } from "../../common/ids.ts";
import { boolean, filledText, integerIn, isCount, matching, timestamp } from "../../schema/values.ts";
import { isObject, nullable, option, optional, predicate, referenceTo, refined } from "../../schema/struct.ts";
import { nouns } from "./nouns.ts";
import type { IdOf, NounWithId } from "./nouns.ts";

export * from "../../schema/values.ts";

// SQLite reads text back only up to a NUL. In JSON text a NUL is escaped and survives.
export const plainText = matching("a string without NUL characters", "^[^\\u0000]*$");
const day = 86_400_000; // ms
const periodFrom = (minimum: number) =>
  integerIn(minimum, 10 * 366 * day, " of milliseconds", { description: "Milliseconds" });
export const period = periodFrom(0);
/** Minimum age of removed rows. It is at least a day, because clients may still repeat recent requests. */
export const age = periodFrom(day);
export const texts = predicate<Record<string, string>>(
  "an object of strings",
  (value) => isObject(value) && Object.values(value).every((member) => typeof member === "string"),
  { type: "object", additionalProperties: { type: "string" } },
);
// Characters that labels exclude, in a form that every language's regular expressions accept.
const hidden = String.raw`\u0000-\u001f\u007f-\u009f\u2028\u2029`;
const isLabel = (value: unknown, minLength: number): boolean =>
  typeof value === "string" && /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u.test(value) && [...value].length <= 200 &&
  value.trim().length >= minLength;

// Names are shown in tables and logs.
export const name = predicate<string>(
  "a name of 1 to 200 characters without control characters",
  (value) => isLabel(value, 1),
  { type: "string", minLength: 1, maxLength: 200, pattern: String.raw`^[^${hidden}]*[^\s${hidden}][^${hidden}]*$` },
);
export const label = predicate<string>(
  "at most 200 characters without control characters",
  (value) => isLabel(value, 0),
  { type: "string", maxLength: 200, pattern: `^[^${hidden}]*$` },
);
export const note = predicate<string>(
  "at most 2000 characters without NUL characters",
  (value) => typeof value === "string" && !value.includes("\0") && [...value].length <= 2000,
  { type: "string", maxLength: 2000, pattern: "^[^\\u0000]*$" },
);
export const reason = refined(note, (value) => value.trim() !== "", "1 to 2000 characters without NUL characters", {
  minLength: 1,
  pattern: "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$",
});
/** A text to search for. Its length is bounded, because a search compares it at every position. */
export const needle = refined(
  filledText,
  (value) => value.length <= 200 || [...value].length <= 200,
  "at most 200 characters",
  { maxLength: 200 },
);
/** A time, or null. */
export const moment = nullable(timestamp);
const controlFree = String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`;
/** An id in a request. Ids are opaque, so any text may be an id of any noun. */
export const idOf = <Key extends NounWithId>(noun: Key) =>
  referenceTo(
    nouns[noun].name,
    predicate<IdOf<Key>>(
      "an id of 1 to 128 characters",
      (value) => typeof value === "string" && /^[^\p{Cc}]{1,128}$/u.test(value),
      {
        type: "string",
        description: `The id of the ${noun}`,
        minLength: 1,
        maxLength: 128,
        pattern: controlFree,
      },
    ),
  );
export const workspaceId = idOf("workspace");
export const keyId = idOf("key");
export const tokenId = idOf("token");
export const priceId = idOf("price");
export const reviewId = idOf("review");
export const rolloutId = idOf("rollout");
export const webhookId = idOf("webhook");
export const alertId = idOf("alert");
export const budgetId = idOf("budget");
export const changeRequestId = idOf("change");
export const recordId = idOf("record");

// A segment must not be `.` or `..`, because these have a meaning in paths.
const segment = String.raw`(\.{0,2}[a-z0-9_-]|\.{3})[a-z0-9._-]*`;
const nameOf = (words: string, max: number, pattern: string) => {
  const whole = `${words}, at most ${max} characters`;
  return refined(
    matching(whole, `^${pattern}$`, { minLength: 1, maxLength: max }),
    ({ length }) => length <= max,
    whole,
  );
};
/** `support/assistant` */
export const promptName = nameOf(
  "lower-case letters, digits, ., _ and - in segments separated by /, none of them . or ..",
  200,
  `${segment}(/${segment})*`,
);
export const deploymentName = nameOf("lower-case letters, digits, ., _ and -, but not . or ..", 99, segment);

const isReference = (value: unknown, max: number): boolean =>
  typeof value === "string" && /^[^\p{Cc}]+$/u.test(value) && [...value].length <= max;
const reference = <T extends string>(words: string, max: number, description?: string) =>
  predicate<T>(`${words} of 1 to ${max} characters`, (value) => isReference(value, max), {
    type: "string",
    ...(description === undefined ? {} : { description }),
    minLength: 1,
    maxLength: max,
    pattern: controlFree,
  });
/** Reference to a prompt or a deployment. Operations get its id instead. */
export const promptReference = referenceTo(
  "Prompt",
  reference<PromptId>("an id or a name", 200, "The id of the prompt, or its name"),
);
export const deploymentReference = referenceTo(
  "Deployment",
  reference<DeploymentId>(
    "an id or a reference",
    300,
    "The id of the deployment, or its reference NAME@DEPLOYMENT",
  ),
);
export const rolloutReference = referenceTo(
  "Rollout",
  reference<RolloutId>(
    "an id or a NAME@DEPLOYMENT",
    300,
    "The id of the rollout, or NAME@DEPLOYMENT for its newest one",
  ),
);
/** Reference to a deployment that may be new. Operations get the id for a reference, and look up everything else. */
export const deploymentOrName = referenceTo(
  "Deployment or name",
  reference<string>("a name, an id or a reference", 300),
);
/** Reference to a deployment of a known prompt. Operations look it up themselves. */
export const deploymentOfPrompt = reference<string>("a name, an id or a reference", 300);

/** The input member of a list that may include archived items, and the condition of its query. */
export const archivable = {
  archived: option(boolean, "Whether to include archived items", { default: false }),
};
export const isListed = (archived = false): string => archived ? "true" : "archived_at is null";

const pageSize = integerIn(1, 1000, "", { default: 50, description: "How many entries to return at most" });
export const cursorWords = "the nextCursor of an earlier response";
export const cursor = matching(cursorWords, "^[0-9A-Za-z_]{1,64}$", {
  description: "The nextCursor of an earlier response, to go on where it ended",
});
export const page = { limit: optional(pageSize), cursor: optional(cursor) };
/** A page of a list that is ordered by a number. */
export const numberedPage = {
  ...page,
  cursor: optional(
    refined(
      cursor,
      (value) => /^\d{1,16}$/.test(value) && isCount(Number(value)),
      cursorWords,
      { pattern: "^[0-9]{1,16}$" },
    ),
  ),
};

/** A value in the history of a deployment. */
export const versionStateOrName = predicate<number | boolean | string>(
  "a version, true, false or a name",
  (value) => Number.isInteger(value) || typeof value === "boolean" || typeof value === "string",
  { type: ["integer", "boolean", "string"] },
);
