// What a deployment can be told to do: the operation, and its words.
import * as operations from "../../management/deployment-changes.ts";

const change = <T>(operation: T, title: string, submit: string, effect: string, isDangerous = false) => ({
  ...{ operation, title, submit, effect, isDangerous },
});

export const changes = {
  promote: change(
    operations.promoteDeployment,
    "Promote",
    "Promote",
    "Applications get the new version with their next read.",
  ),
  rollback: change(
    operations.rollBackDeployment,
    "Roll back",
    "Roll back to",
    "Applications get the earlier version with their next read.",
  ),
  deactivate: change(
    operations.deactivateDeployment,
    "Deactivate",
    "Deactivate",
    "Every request to it is refused from the next one on.",
    true,
  ),
  activate: change(operations.activateDeployment, "Activate", "Activate", "It accepts requests again."),
  archive: change(
    operations.archiveDeployment,
    "Archive",
    "Archive",
    "Lists hide it, and every request to it is refused. Its name stays taken, and nothing is deleted.",
    true,
  ),
  unarchive: change(
    operations.unarchiveDeployment,
    "Unarchive",
    "Unarchive",
    "It accepts requests again if it is active.",
  ),
  protect: change(
    operations.protectDeployment,
    "Protect",
    "Protect",
    "From then on, changing it needs the role publisher.",
  ),
  unprotect: change(
    operations.unprotectDeployment,
    "Unprotect",
    "Remove the protection",
    "From then on, an editor may promote to it.",
    true,
  ),
} as const;

export type ChangeName = keyof typeof changes;
