// Shows alerts on the command line.
import { durationText } from "../../support/duration.ts";
import { muteAlert, unmuteAlert, updateAlert } from "../../management/events/alert-changes.ts";
import { readCondition, valueText } from "../../management/events/alert-conditions.ts";
import { createAlert, deleteAlert, listAlerts, readAlert } from "../../management/events/alerts.ts";
import type { Alert, AlertWithChanges } from "../../management/events/alerts.ts";
import type { CommandContext, Outcome } from "../frame/command.ts";
import { format } from "../frame/format.ts";
import { present } from "../frame/operation-commands.ts";

const scopeOf = ({ reference }: Alert): string => reference ?? "workspace";

/** Value of the last check, with its unit. */
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

/** Text of an alert, one member a line. */
const toLines = (alert: Alert) => {
  const { atLeast, keepFiringMs } = alert;
  return { ...toRow(alert), atLeast, keepFiring: durationText(keepFiringMs) };
};

const toChangeRow = ({ at, action, actor, note }: AlertWithChanges["changes"][number]) => ({
  ...{ at, change: action.replace("alert.", ""), actor, note },
});

const asLines: { show(alert: Alert, context: CommandContext): Outcome } = {
  show: (alert, { terminal: { columns } }) => ({ data: alert, text: () => format(toLines(alert), columns) }),
};

export const alertPresentations = [
  present(createAlert, asLines),
  present(muteAlert, asLines),
  present(unmuteAlert, asLines),
  present(deleteAlert, asLines),
  present(listAlerts, { row: toRow }),
  present(readAlert, {
    async run({ call, terminal: { columns } }, input) {
      const { nextCursor: _, ...data } = await call(readAlert, input);
      return { data, text: () => format({ ...toLines(data), changes: data.changes.map(toChangeRow) }, columns) };
    },
  }),
  present(updateAlert, {
    ...asLines,
    check: (args) =>
      args.findText("when") === undefined &&
        ["over", "at-least", "keep-firing"].every((name) => args.findNumber(name) === undefined)
        ? "Nothing to change: set --when, --over, --at-least or --keep-firing"
        : undefined,
  }),
];
