// The filters of records as fields and as a query. Their names are those of the query, so that a view can be shared as a link.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { invalid } from "../../common/errors.ts";
import type { Refusal } from "../../common/errors.ts";
import type { KeyId } from "../../common/ids.ts";
import { listApiKeys } from "../../management/api-keys.ts";
import type { ApiKey } from "../../management/api-keys.ts";
import { exact, Fragment, h, isolated } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { asked, isChecked, workspaceOf } from "../page.ts";
import type { Visit } from "../page.ts";
import { Area, Checkbox, Field, Select } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { rangeOf, spanOptions } from "./inputs.tsx";

/** The filter in the query. Throws if the value of a field is not allowed. */
export const filterIn = (visit: Visit) => ({
  sessionId: asked(visit, "session"),
  status: statusesIn(visit).join(",") || undefined,
  failures: isChecked(visit, "failures") || undefined,
  promptVersion: numberOf(visit, "version", "promptVersion"),
  keyId: asked(visit, "key") as KeyId | undefined,
  model: asked(visit, "model"),
  slowerThan: numberOf(visit, "slower", "slowerThan"),
  moreTokensThan: numberOf(visit, "tokens", "moreTokensThan"),
  costlierThan: asked(visit, "costlier"),
  where: linesOf(asked(visit, "where")),
  text: asked(visit, "text"),
  ...checkedRange(visit),
});

/** The query of the page for links, in which each name stands once. */
export const queryOf = (visit: Visit): Record<string, string> => ({
  ...Object.fromEntries(visit.query),
  status: statusesIn(visit).join(","),
});

/** Several statuses are several parameters, or one list. */
const statusesIn = ({ query }: Visit): string[] =>
  query.getAll("status").flatMap((list) => list.split(",")).map((text) => text.trim()).filter((text) => text !== "");

/** The operation checks the range of a number. */
function numberOf(visit: Visit, name: string, member: keyof typeof labels): number | undefined {
  const text = asked(visit, name);
  if (text === undefined) return undefined;
  if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) throw invalid(`Field ${member} must be a number`);
  return Number(text);
}

const linesOf = (text: string | undefined): string | undefined =>
  text?.split(/[\r\n]+/).map((line) => line.trim()).filter((line) => line !== "").join("\n");

function checkedRange(visit: Visit) {
  const range = rangeOf(visit), { from = 0, to = Infinity } = range;
  if (from > to) throw invalid("Field from must be no later than the end of the range");
  return range;
}

/** The labels of fields, by the names that refusals use. */
const labels = {
  sessionId: "Session",
  promptVersion: "Version",
  keyId: "Key",
  model: "Model",
  slowerThan: "Slower than (ms)",
  moreTokensThan: "More tokens than",
  costlierThan: "Costlier than (USD)",
  where: "Properties",
  text: "Text",
  failures: "Only failures",
  last: "Time",
  interval: "Interval",
  order: "Order",
  from: "From (UTC)",
  to: "To (UTC)",
};

/** Why a filter was refused, in the words of its fields. */
export function filterNotice({ message }: Refusal): Html {
  const labelled = message.replace(
    /^Field (\w+)/,
    (whole, member: string) => Object.hasOwn(labels, member) ? labels[member as keyof typeof labels] : whole,
  );
  return <Notice kind="error">{labelled}.</Notice>;
}

const mostKeys = 100;

/** The keys to choose from, the newest ones. */
export const findKeys = async (visit: Visit): Promise<ApiKey[]> =>
  (await visit.call(listApiKeys, { workspaceId: workspaceOf(visit).id, limit: mostKeys })).items;

const more = ["session", "version", "key", "model", "slower", "tokens", "costlier", "where", "from", "to", "order"];

type FilterFieldsProps = {
  visit: Visit;
  keys: readonly ApiKey[];
  times?: readonly (readonly [value: string, label: string])[];
  /** Fields that the page has beside these. */
  children?: Part;
};

/** The fields of the filter. Those that are rarely used are folded away unless one of them is set. */
export function FilterFields({ visit, keys, times = spanOptions, children }: FilterFieldsProps): Html {
  const value = (name: string) => asked(visit, name);
  const hasFailures = workspaceOf(visit).statuses.some(({ isFailure }) => isFailure);
  return (
    <>
      <Field label={labels.text} name="text" type="search" value={value("text")} placeholder="In input or output" />
      <Select label={labels.last} name="last" value={value("last")} options={times} />
      {statusFields(visit)}
      {hasFailures && <Checkbox label={labels.failures} name="failures" isChecked={value("failures") === "yes"} />}
      <details class="more" open={more.some((name) => value(name) !== undefined)}>
        <summary>More filters</summary>
        <div class="row">
          <Field label={labels.sessionId} name="session" value={value("session")} />
          <Field label={labels.promptVersion} name="version" type="number" value={value("version")} />
          <Select label={labels.keyId} name="key" value={value("key")} options={keyOptions(keys, value("key"))} />
          <Field label={labels.model} name="model" value={value("model")} />
          <Field label={labels.slowerThan} name="slower" type="number" value={value("slower")} />
          <Field label={labels.moreTokensThan} name="tokens" type="number" value={value("tokens")} />
          <Field label={labels.costlierThan} name="costlier" value={value("costlier")} placeholder="0.01" />
          <Area
            label={labels.where}
            name="where"
            value={value("where")}
            hint="As in trace_id=4bf92f35. Of several lines, all must hold."
            rows={2}
          />
          <Field label={labels.from} name="from" type="datetime-local" value={value("from")} />
          <Field label={labels.to} name="to" type="datetime-local" value={value("to")} />
          {children}
        </div>
      </details>
    </>
  );
}

/** A box for each status that has a name, and for each other one in the query. */
function statusFields(visit: Visit): Html {
  const { statuses } = workspaceOf(visit);
  const chosen = statusesIn(visit);
  if (statuses.length === 0) return <Field label="Status" name="status" value={chosen.join(",")} placeholder="0,1" />;
  const all = new Set([...statuses.map(({ name }) => name), ...chosen]);
  return (
    <fieldset class="field">
      <legend>Status</legend>
      <div class="chips">
        {[...all].map((name, nth) => (
          <span class="check">
            <input
              type="checkbox"
              id={`status-${nth}`}
              name="status"
              value={exact(name)}
              checked={chosen.includes(name)}
            />
            <label for={`status-${nth}`}>{isolated(name)}</label>
          </span>
        ))}
      </div>
    </fieldset>
  );
}

function keyOptions(keys: readonly ApiKey[], chosen: string | undefined): [value: string, label: string][] {
  const known = keys.map(({ id, name, prefix }): [string, string] => [id, name === "" ? prefix : name]);
  const other: [string, string][] = chosen === undefined || keys.some(({ id }) => id === chosen)
    ? []
    : [[chosen, chosen]];
  return [["", "Any key"], ...known, ...other];
}
