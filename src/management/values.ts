// What single values of management must be, besides those that applications send and get.
import type { DeploymentId, Id, KeyId, PromptId, RecordId, TokenId, WorkspaceId } from "../common/ids.ts";
import { countSchema, filledText, isCount, isTrue, timestamp } from "../schema/values.ts";
import { described, isObject, naming, nullable, optional, predicate, refined } from "../schema/struct.ts";

export * from "../schema/values.ts";

// SQLite reads text back only up to a NUL; inside JSON text it is escaped and survives.
export const plainText = predicate<string>(
  "a string without NUL characters",
  (value) => typeof value === "string" && !value.includes("\0"),
  { type: "string", pattern: "^[^\\u0000]*$" },
);
const longestPeriod = 10 * 366 * 86_400_000; // ms
export const period = predicate<number>(
  `an integer of milliseconds from 0 to ${longestPeriod}`,
  (value) => isCount(value) && value <= longestPeriod,
  { ...countSchema, maximum: longestPeriod, description: "Milliseconds" },
);
/** How old something must be at least: a day, since what has just been written may still be asked for again. */
export const age = predicate<number>(
  `an integer of milliseconds from ${86_400_000} to ${longestPeriod}`,
  (value) => isCount(value) && value >= 86_400_000 && value <= longestPeriod,
  { ...countSchema, minimum: 86_400_000, maximum: longestPeriod, description: "Milliseconds" },
);
export const texts = predicate<Record<string, string>>(
  "an object of strings",
  (value) => isObject(value) && Object.values(value).every((member) => typeof member === "string"),
  { type: "object", additionalProperties: { type: "string" } },
);
// The same in a way that the regular expressions of every language take.
const hidden = String.raw`\u0000-\u001f\u007f-\u009f\u2028\u2029`;
const isLabel = (value: unknown, least: number): boolean =>
  typeof value === "string" && /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u.test(value) && [...value].length <= 200 &&
  value.trim().length >= least;

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
/** A text that is searched for. Its length is bounded, since a search compares it at every place. */
export const needle = refined(
  filledText,
  (value) => value.length <= 200 || [...value].length <= 200,
  "at most 200 characters",
  { maxLength: 200 },
);
/** A moment, or none. */
export const moment = nullable(timestamp);
/** What a caller names a thing by. Any text may be an id of any noun: ids are opaque. */
const idOf = <T extends Id<string>>(noun: string) =>
  naming(
    noun,
    predicate<T>(
      "an id of 1 to 128 characters",
      (value) => typeof value === "string" && /^[^\p{Cc}]{1,128}$/u.test(value),
      { type: "string", minLength: 1, maxLength: 128, pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]*$` },
    ),
  );
export const workspaceId = idOf<WorkspaceId>("Workspace");
export const keyId = idOf<KeyId>("API key");
export const tokenId = idOf<TokenId>("Token");
export const recordId = idOf<RecordId>("Diagnosis");

// A segment begins with at most two dots, and these do not make up all of it: `.` and `..` have a meaning in paths.
const segment = String.raw`(\.{0,2}[a-z0-9_-]|\.{3})[a-z0-9._-]*`;
const nameOf = (words: string, longest: number, pattern: string) => {
  const whole = new RegExp(`^${pattern}$`);
  return predicate<string>(
    `${words}, at most ${longest} characters`,
    (value) => typeof value === "string" && value.length <= longest && whole.test(value),
    { type: "string", minLength: 1, maxLength: longest, pattern: `^${pattern}$` },
  );
};
/** `support/assistant` */
export const promptName = nameOf(
  "lower-case letters, digits, ., _ and - in segments separated by /, none of them . or ..",
  200,
  `${segment}(/${segment})*`,
);
export const deploymentName = nameOf("lower-case letters, digits, ., _ and -, but not . or ..", 99, segment);

const isReference = (value: unknown, longest: number): boolean =>
  typeof value === "string" && /^[^\p{Cc}]+$/u.test(value) && [...value].length <= longest;
const reference = <T extends string>(words: string, longest: number) =>
  predicate<T>(`${words} of 1 to ${longest} characters`, (value) => isReference(value, longest), {
    type: "string",
    minLength: 1,
    maxLength: longest,
    pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`,
  });
/** What a caller names a prompt or a deployment by. Operations get its id instead. */
export const promptReference = naming("Prompt", reference<PromptId>("an id or a name", 200));
export const deploymentReference = naming("Deployment", reference<DeploymentId>("an id or a reference", 300));
/** What a caller names a deployment by where it may be new. Operations get an id for a reference alone, and look it up. */
export const deploymentOrName = naming("Deployment or name", reference<string>("a name, an id or a reference", 300));
/** The same for a deployment of a prompt that is known, which operations find themselves. */
export const deploymentOfPrompt = reference<string>("a name, an id or a reference", 300);

/** Members of the input of a list of what may be archived, and which items it has. */
export const archivable = {
  archived: optional(described(isTrue, "Whether to list what is archived too", { default: false })),
};
export const isListed = (archived = false): string => archived ? "true" : "archived_at is null";

/** How a list is asked for: so many entries, beginning where an earlier answer ended. */
const pageSize = predicate<number>(
  "an integer from 1 to 1000",
  (value) => isCount(value) && value >= 1 && value <= 1000,
  { type: "integer", minimum: 1, maximum: 1000, default: 50, description: "How many entries to give at most" },
);
export const cursor = predicate<string>(
  "the nextCursor of an earlier answer",
  (value) => typeof value === "string" && /^\w{1,64}$/.test(value),
  {
    type: "string",
    pattern: "^[0-9A-Za-z_]{1,64}$",
    description: "The nextCursor of an earlier answer, to go on where it ended",
  },
);
export const page = { limit: optional(pageSize), cursor: optional(cursor) };
/** A page of what is ordered by numbers. */
export const numberedPage = {
  ...page,
  cursor: optional(
    refined(
      cursor,
      (value) => /^\d{1,16}$/.test(value) && isCount(Number(value)),
      "the nextCursor of an earlier answer",
      { pattern: "^[0-9]{1,16}$" },
    ),
  ),
};

/** What a deployment's history tells of. */
export const versionStateOrName = predicate<number | boolean | string>(
  "a version, true, false or a name",
  (value) => ["number", "boolean", "string"].includes(typeof value),
  { type: ["integer", "boolean", "string"] },
);
