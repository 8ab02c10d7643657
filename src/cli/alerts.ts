// How the command line shows alerts.
import { durationText } from "../common/duration.ts";
import { updateAlert } from "../management/alert-changes.ts";
import { readCondition, valueText } from "../management/alert-conditions.ts";
import { listAlerts, readAlert } from "../management/alerts.ts";
import type { Alert, AlertWithChanges } from "../management/alerts.ts";
import { format } from "./format.ts";
import { present } from "./operation-commands.ts";

const scopeOf = ({ reference }: Alert): string => reference ?? "workspace";

/** What the last check found, with its unit. */
const valueOf = ({ condition, value }: Alert): string | null =>
  value === null ? null : valueText(readCondition(condition), value);

/** The most important columns come first, because a narrow terminal shows the last ones below. */
const toRow = (alert: Alert) => {
  const { state, condition, overMs, records, stateAt, muteEndsAt, checkedAt, id } = alert;
  return {
    ...{ state: state.replace("_", " "), condition, scope: scopeOf(alert), over: durationText(overMs) },
    ...{ value: valueOf(alert), records, stateAt, muteEndsAt, checkedAt, id },
  };
};

function toLines(alert: AlertWithChanges) {
  const { atLeast, keepFiringMs, changes } = alert;
  const shown = changes.map(({ at, action, actor, note }) => ({
    at,
    change: action.replace("alert.", ""),
    actor,
    note,
  }));
  return { ...toRow(alert), atLeast, keepFiring: durationText(keepFiringMs), changes: shown };
}

export const alertPresentations = [
  present(listAlerts, { row: toRow }),
  present(readAlert, {
    show: (alert, { terminal: { columns } }) => ({ data: alert, text: () => format(toLines(alert), columns) }),
  }),
  present(updateAlert, {
    check: (args) =>
      args.findText("when") === undefined &&
        ["over", "at-least", "keep-firing"].every((name) => args.findNumber(name) === undefined)
        ? "Nothing to change: set --when, --over, --at-least or --keep-firing"
        : undefined,
  }),
];
