// Names of statuses. A status is a code that applications put into a record. A workspace says what its codes mean, and
// which of them count as failures.
import { bounds } from "../../support/bounds.ts";
import { conflict, invalidField, listed } from "../../common/errors.ts";
import { described, exactly, listOf, optional, predicate, refined, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../../schema/values.ts";

const maxStatuses = bounds.statuses;
const maxNameLength = 40; // characters

// Names are in lists next to codes, so they contain no comma and do not look like a code.
const namePattern = String.raw`^[^\s\d,!-][^,!\u0000-\u001f\u007f-\u009f\u2028\u2029]{0,${maxNameLength - 1}}$`;
const statusName = predicate<string>(
  `a name of 1 to ${maxNameLength} characters without commas and !, which begins with no digit and no -`,
  (value) => typeof value === "string" && new RegExp(namePattern, "u").test(value) && value.trim() === value,
  { type: "string", minLength: 1, maxLength: maxNameLength, pattern: namePattern },
);

const isFailure = described(v.boolean, "Whether records with this status count as failures");

/** Meaning of a code. */
export const StatusName = shape("StatusName", { status: v.integer, name: statusName, isFailure });
export type StatusName = Infer<typeof StatusName>;

/** Statuses of a workspace as in a response. */
export const statusNames = described(listOf(StatusName), "What the statuses of its records mean, ordered by code");

type GivenStatus = Omit<StatusName, "isFailure"> & { isFailure?: boolean | undefined };

/** Statuses as in a request. */
export const givenStatuses = described(
  refined(
    listOf(exactly({ status: v.integer, name: statusName, isFailure: optional(isFailure) })),
    (statuses) =>
      statuses.length <= maxStatuses && new Set(statuses.map(({ status }) => status)).size === statuses.length &&
      new Set(statuses.map(({ name }) => name)).size === statuses.length,
    `an array of at most ${maxStatuses} statuses, with different codes and different names`,
    { maxItems: maxStatuses },
  ),
  "What the statuses of its records mean. This replaces all names that it had",
);

/** The statuses of a new workspace. */
export const defaultStatuses: StatusName[] = [
  { status: 0, name: "failed", isFailure: true },
  { status: 1, name: "ok", isFailure: false },
];

/** Statuses as in the database and the audit log: in order, and with every member. */
export const toStatuses = (given: GivenStatus[]): StatusName[] =>
  given.map(({ status, name, isFailure = false }) => ({ status, name, isFailure }))
    .sort((a, b) => a.status - b.status);

const maxListLength = 1000;

/** Several statuses in a query: `0,timeout`. */
export const statusList = predicate<string>(
  "a list of statuses and names of statuses, separated by commas",
  (value) => typeof value === "string" && value !== "" && [...value].length <= maxListLength && !/\p{Cc}/u.test(value),
  {
    type: "string",
    minLength: 1,
    maxLength: maxListLength,
    pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`,
    examples: ["0", "failed,timeout"],
  },
);

/** Codes of a list of statuses. Throws for a text that is neither a code nor the name of one. */
export function readStatuses(list: string, names: StatusName[]): number[] {
  return list.split(",").map((text) => {
    const trimmed = text.trim();
    const code = /^-?\d{1,16}$/.test(trimmed) ? Number(trimmed) : names.find(({ name }) => name === trimmed)?.status;
    if (code !== undefined && Number.isSafeInteger(code)) return code;
    const known = listed(names.map(({ name }) => name)) || "none";
    throw invalidField("status", `The workspace has no status named ${trimmed}. Its names: ${known}`);
  });
}

/** Codes that count as failures; undefined if the workspace has named none. */
export function failuresOf(names: StatusName[]): number[] | undefined {
  const failures = names.filter(({ isFailure }) => isFailure).map(({ status }) => status);
  return failures.length === 0 ? undefined : failures;
}

/** Failure codes. Throws if there are none. */
export function requireFailures(names: StatusName[]): number[] {
  const failures = failuresOf(names);
  if (failures !== undefined) return failures;
  throw conflict("No status of the workspace counts as a failure: name one with workspace update --status 0=failed!");
}
