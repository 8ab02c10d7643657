// The types of events, and how a reader says which it wants.
import { invalidField } from "../../common/errors.ts";
import { refined } from "../../schema/struct.ts";
import { matching } from "../../schema/values.ts";

/** Types of events with their meanings. They are the actions of the audit log, but for those in `actions`. */
export const eventTypes = {
  "workspace.created": "A workspace was created",
  "workspace.updated": "A setting of a workspace changed, such as its quota",
  "workspace.deleted": "A workspace was deleted",
  "quota.reached": "A workspace has used 50, 80, 90 or 100 % of its quota for a month",
  "quota.forecast": "At the pace of the last days, the quota of a workspace will not last until the month ends",
  "key.created": "An API key was created",
  "key.rotated": "An API key got a new secret",
  "key.revoked": "An API key was revoked",
  "key.expiring": "An API key will expire in less than 14 days, or in less than 3",
  "token.created": "A management token was created",
  "token.rotated": "A management token got a new secret",
  "token.revoked": "A management token was revoked",
  "token.expiring": "A management token will expire in less than 14 days, or in less than 3",
  "prompt.created": "A prompt was created, with its first version",
  "prompt.version_published": "A prompt got a new version",
  "prompt.renamed": "A prompt got another name",
  "prompt.archived": "A prompt was archived",
  "prompt.unarchived": "A prompt was taken out of the archive",
  "deployment.created": "A deployment was created",
  "deployment.promoted": "A deployment serves another version",
  "deployment.rolled_back": "A deployment serves an earlier version again",
  "deployment.activated": "A deployment accepts requests again",
  "deployment.deactivated": "A deployment refuses requests",
  "deployment.protected": "A deployment may be changed by fewer people",
  "deployment.unprotected": "A deployment may be changed by more people",
  "deployment.approvals_changed": "Changes of a deployment need an approval, or none any more",
  "deployment.renamed": "A deployment got another name",
  "deployment.archived": "A deployment was archived",
  "deployment.unarchived": "A deployment was taken out of the archive",
  "deployment.rollout_started": "A rollout gives a version to a share first",
  "deployment.rollout_changed": "A rollout has another share or guard",
  "deployment.rollout_stopped": "A rollout was stopped, by somebody or by its guard",
  "change.requested": "A change of a deployment waits for an approval",
  "change.applied": "A change request was approved, and the deployment changed",
  "change.declined": "A change request was declined",
  "change.withdrawn": "A change request was withdrawn by who had made it",
  "change.expired": "A change request was not approved in time",
  "change.stale": "A change request came to nothing, because the deployment changed in another way",
  "record.deleted": "A record was deleted",
  "session.deleted": "The records of a session were deleted",
  "records.reindexed": "Earlier records got what statistics need",
  "log.pruned": "Old calls and records were removed",
  "upkeep.failed": "Retention or the deletion of a workspace has begun to fail",
  "upkeep.recovered": "Retention or the deletion of a workspace works again",
  "backup.failed": "Scheduled backups have begun to fail",
  "backup.recovered": "A backup has succeeded after some that failed",
  "feedback_name.declared": "A name of feedback was declared",
  "feedback_name.undeclared": "A name of feedback is declared no more",
  "review.created": "A list of records to review was made",
  "review.deleted": "A list of records to review was deleted",
  "price.set": "A model has a price, or another one",
  "price.removed": "A model has no price any more",
  "budget.created": "A budget was created",
  "budget.updated": "A budget has another amount, or other thresholds",
  "budget.deleted": "A budget was deleted",
  "budget.reached": "The records of a day or a month have cost a share of a budget",
  "webhook.created": "A webhook was created",
  "webhook.updated": "A webhook has another address, or other events",
  "webhook.rotated": "A webhook got a new secret",
  "webhook.enabled": "A webhook is on again",
  "webhook.disabled": "A webhook is off: somebody switched it off, or its deliveries failed",
  "webhook.deleted": "A webhook was deleted",
  "alert.created": "An alert was created",
  "alert.updated": "An alert has another condition",
  "alert.deleted": "An alert was deleted",
  "alert.muted": "An alert is muted for some time",
  "alert.unmuted": "An alert is no longer muted",
  "alert.fired": "An alert fires",
  "alert.resolved": "An alert is resolved",
} as const;

/** Types of events without an author. The note of such an event is a sentence with its numbers. */
const found: ReadonlySet<string> = new Set<keyof typeof eventTypes>([
  "quota.reached",
  "quota.forecast",
  "budget.reached",
  "key.expiring",
  "token.expiring",
  "change.expired",
  "upkeep.failed",
  "upkeep.recovered",
  "backup.failed",
  "backup.recovered",
]);
/** True if a service finds such events, and no person causes them. */
export const isFound = (type: string): boolean => found.has(type);

/** Actions of the audit log whose events have another name. */
const actions: Partial<Record<string, string>> = { "prompt.version_published": "prompt.pushed" };
/** Action of the entries for events of a type. */
export const actionOf = (type: string): string => actions[type] ?? type;
/** Type of the events of an action. */
export const typeOf = (action: string): string =>
  Object.keys(actions).find((type) => actions[type] === action) ?? action;

const knownTypes = Object.keys(eventTypes);
const typesPattern = String.raw`^[a-z_]+\.([a-z_]+|\*)(,[a-z_]+\.([a-z_]+|\*))*$`;
const maxTypesLength = 2000; // characters

/** Filter of events: their types, or `deployment.*` for all of a noun. */
export const typesWanted = refined(
  matching("types of events such as deployment.*,key.created", typesPattern),
  ({ length }) => length <= maxTypesLength,
  `at most ${maxTypesLength} characters`,
  { maxLength: maxTypesLength },
);

/** The actions of the audit log that are meant. Throws for a type that does not exist. `field` has the types. */
export function actionsOf(wanted: string, field: string): string[] {
  return wanted.split(",").flatMap((each) => {
    const noun = /^(.+\.)\*$/.exec(each)?.[1];
    const found = knownTypes.filter((type) => noun === undefined ? type === each : type.startsWith(noun));
    if (found.length === 0) throw invalidField(field, `There is no event ${each}. ${suggest(each)}`);
    return found.map(actionOf);
  });
}

function suggest(unknown: string): string {
  const nouns = [...new Set(knownTypes.map((type) => type.split(".")[0]!))];
  const [noun] = unknown.split(".");
  return nouns.includes(noun!)
    ? `Those of ${noun} are ${knownTypes.filter((type) => type.startsWith(`${noun}.`)).join(", ")}`
    : `Events are of ${nouns.join(", ")}`;
}
