// Origin of a change: the repository commit that it was made from. The audit log keeps it with the change.
import { described, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "./values.ts";

export const Origin = shape("Origin", {
  commit: described(v.label, "The hash of the commit"),
  author: option(v.label, "Who wrote the commit"),
  repository: option(v.label, "The address of the repository"),
  change: option(v.label, "The pull request or merge request, as its address or number"),
});
export type Origin = Infer<typeof Origin>;

/** The input member of operations that may come from a repository. */
export const givenOrigin = option(Origin, "The commit of a repository that this comes from");

/** Output member for an origin. */
export const knownOrigin = orNull(Origin, "The commit of a repository that this came from, or null");

/** The origin in the `after` of an entry of the audit log. */
export const originIn = (after: Record<string, unknown>): Origin | null => (after.origin as Origin | undefined) ?? null;

/** Short name of a commit in lists: the first 12 digits of its hash. */
export const shortCommit = (origin: Origin | null): string =>
  origin === null ? "" : origin.commit.replace(/^([0-9a-f]{12})[0-9a-f]{28,}/, "$1");
