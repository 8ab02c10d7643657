// Changes of alerts by people: their definition, and muting.
import { option, optional } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import {
  Alert,
  definitionInput,
  definitionOf,
  requireAlert,
  requireCondition,
  resolvedBy,
  toAtLeast,
} from "./alerts.ts";
import { withoutSpaces } from "../terms/limits.ts";
import { changeInfo, operation } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { updateOf } from "../kernel/table.ts";

const hour = 3_600_000; // ms

export const updateAlert = operation({
  id: "updateAlert",
  summary: "Change the condition of an alert, or how it is checked. A firing alert resolves first",
  method: "PATCH",
  path: "/alerts/{id}",
  conflicts: true,
  role: "editor",
  command: "alert update ID [--when LIMIT] [--over WINDOW] [--at-least N] [--keep-firing DURATION]",
  input: {
    id: v.alertId,
    condition: optional(definitionInput.condition),
    overMs: optional(definitionInput.overMs),
    atLeast: optional(definitionInput.atLeast),
    keepFiringMs: optional(definitionInput.keepFiringMs),
    ...changeInfo,
  },
  output: Alert,
  async run(management, { id, ...input }) {
    const before = await requireAlert(management, id), { workspaceId } = before;
    const condition = withoutSpaces(input.condition ?? before.condition);
    const { overMs = before.overMs, keepFiringMs = before.keepFiringMs } = input;
    if (condition !== before.condition) await requireCondition(management, workspaceId, condition);
    const atLeast = toAtLeast(condition, input.atLeast, before.atLeast);
    const defined = { condition, overMs, atLeast, keepFiringMs }, now = management.clock();
    if (JSON.stringify(definitionOf({ ...before, ...defined })) === JSON.stringify(definitionOf(before))) return before;
    const unchecked = {
      state: "no_data",
      stateAt: now,
      clearAt: null,
      value: null,
      records: null,
      checkedAt: null,
    } as const;
    const changed = { ...defined, ...unchecked, changedAt: now }, after: Alert = { ...before, ...changed };
    const change = { action: "alert.updated", id, workspaceId };
    await management.commit(
      [
        ...resolvedBy(before, "The alert was changed"),
        { ...change, before: definitionOf(before), after: definitionOf(after) },
      ],
      [updateOf("alerts", id, changed, ["turn"])],
    );
    return after;
  },
});

/** Sets the end of an alert's mute. */
async function setMuted(management: Management, before: Alert, muteEndsAt: number | null): Promise<Alert> {
  const { id, workspaceId } = before, after = { ...before, muteEndsAt };
  const action = muteEndsAt === null ? "unmuted" : "muted";
  await management.commit([{ action: `alert.${action}`, id, workspaceId, before, after }], [
    updateOf("alerts", id, { muteEndsAt }),
  ]);
  return after;
}

export const muteAlert = operation({
  id: "muteAlert",
  summary: "Mute an alert for a time. Until then it is checked, but neither fires nor resolves",
  method: "POST",
  path: "/alerts/{id}/mute",
  role: "editor",
  command: "alert mute ID --for DURATION",
  input: {
    id: v.alertId,
    forMs: option(v.period, "How long from now on, in milliseconds", { default: hour }),
    ...changeInfo,
  },
  output: Alert,
  run: async (management, { id, forMs = hour }) =>
    await setMuted(management, await requireAlert(management, id), management.clock() + forMs),
});

export const unmuteAlert = operation({
  id: "unmuteAlert",
  summary: "End the mute of an alert. If its condition holds, the next check makes it fire",
  method: "POST",
  path: "/alerts/{id}/unmute",
  role: "editor",
  command: "alert unmute ID",
  input: { id: v.alertId, ...changeInfo },
  output: Alert,
  async run(management, { id }) {
    const before = await requireAlert(management, id);
    return before.muteEndsAt === null ? before : await setMuted(management, before, null);
  },
});

export const alertChangeOperations = [updateAlert, muteAlert, unmuteAlert] as const;
