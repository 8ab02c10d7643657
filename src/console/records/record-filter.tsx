// The filters of records as fields and as a query. Their names are those of the query, so that a view can be shared as
// a link.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { invalidField, wrongField } from "../../common/errors.ts";
import type { Refusal } from "../../common/errors.ts";
import type { KeyId, RolloutId } from "../../common/ids.ts";
import { anyName } from "../../feedback/feedback-scan.ts";
import { listApiKeys } from "../../management/access/api-keys.ts";
import type { ApiKey } from "../../management/access/api-keys.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { exact, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { isChecked, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { FilterChips, Notice } from "../frame/elements.tsx";
import { Area, Checkbox, Field, Filters, Menu, Select } from "../frame/form.tsx";
import {
  decimalIn,
  DeploymentField,
  findDeployment,
  findOffered,
  labelled,
  linesIn,
  rangeOf,
  spanOptions,
} from "../frame/inputs.tsx";
import type { Offered } from "../frame/inputs.tsx";

/** The filter in the query. Throws if the value of a field is not allowed. */
export const filterIn = (visit: ConsoleRequest) => ({
  sessionId: queryValue(visit, "session"),
  status: statusesIn(visit).join(",") || undefined,
  failures: isChecked(visit, "failures") || undefined,
  promptVersion: decimalIn(queryValue(visit, "version"), "promptVersion"),
  rollout: queryValue(visit, "rollout") as RolloutId | undefined,
  keyId: queryValue(visit, "key") as KeyId | undefined,
  model: queryValue(visit, "model"),
  slowerThan: decimalIn(queryValue(visit, "slower"), "slowerThan"),
  moreTokensThan: decimalIn(queryValue(visit, "tokens"), "moreTokensThan"),
  costlierThan: queryValue(visit, "costlier"),
  where: linesIn(queryValue(visit, "where"))?.join("\n"),
  text: queryValue(visit, "text"),
  feedback: linesIn(queryValue(visit, "feedback"))?.join("\n"),
  withoutFeedback: queryValue(visit, "without"),
  ...checkedRange(visit),
});

/** Choices of a workspace's filter, and the deployment that the query names, if there is one. */
type Choices = { offered: Offered; keys: ApiKey[]; deployment: Deployment | undefined };

export async function findChoices(visit: ConsoleRequest): Promise<Choices> {
  const [offered, keys, deployment] = await Promise.all([
    findOffered(visit, true),
    findKeys(visit),
    findChosen(visit),
  ]);
  return { offered, keys, deployment };
}

/** The deployment that the query names, if there is one. */
async function findChosen(visit: ConsoleRequest): Promise<Deployment | undefined> {
  const ref = queryValue(visit, "deployment");
  return ref === undefined ? undefined : await findDeployment(visit, ref);
}

/** The filter of a workspace. Throws too if the query names a deployment that there is not. */
export async function workspaceFilterIn(visit: ConsoleRequest) {
  const ref = queryValue(visit, "deployment"), deployment = await findChosen(visit);
  if (ref !== undefined && deployment === undefined) {
    throw invalidField("deployment", `There is no deployment ${ref} in this workspace`);
  }
  return { workspaceId: workspaceOf(visit).id, deployId: deployment?.id, ...filterIn(visit) };
}

/** Several statuses are several parameters, or one list. */
const statusesIn = ({ query }: ConsoleRequest): string[] =>
  query.getAll("status").flatMap((list) => list.split(",")).map((text) => text.trim()).filter((text) => text !== "");

function checkedRange(visit: ConsoleRequest) {
  const range = rangeOf(visit), { from = 0, to = Infinity } = range;
  if (from > to) throw wrongField("from", "no later than the end of the range");
  return range;
}

/** The labels of fields, by the names that refusals use. */
export const labels = {
  text: "Text",
  sessionContains: "Session",
  last: "Time",
  status: "Status",
  failures: "Only failures",
  sessionId: "Session",
  promptVersion: "Version",
  rollout: "Rollout",
  keyId: "Key",
  model: "Model",
  slowerThan: "Slower than (ms)",
  moreTokensThan: "More tokens than",
  costlierThan: "Costlier than (USD)",
  where: "Properties",
  feedback: "Feedback",
  withoutFeedback: "Without feedback",
  from: "From (UTC)",
  to: "To (UTC)",
  order: "Order",
  interval: "Interval",
};

/** Their names in the query, where these are others. */
const names: Partial<Record<keyof typeof labels, string>> = {
  sessionContains: "contains",
  sessionId: "session",
  promptVersion: "version",
  keyId: "key",
  slowerThan: "slower",
  moreTokensThan: "tokens",
  costlierThan: "costlier",
  withoutFeedback: "without",
};

type WorkspaceFiltersProps = {
  visit: ConsoleRequest;
  path: "records" | "sessions";
  choices: Choices;
  ofSessions?: boolean;
  children?: Part;
};

/** The filter of a workspace, with chips for what is set. */
export function WorkspaceFilters({ visit, path, choices, ...given }: WorkspaceFiltersProps): Html {
  const { offered, keys, deployment } = choices;
  const filters = [
    { name: "deployment", label: "Deployment", text: deployment?.reference },
    ...filtersOf(visit, keys),
  ];
  return (
    <Filters chips={<FilterChips visit={visit} path={path} filters={filters} />}>
      <FilterFields
        visit={visit}
        keys={keys}
        {...given}
        deployment={
          <DeploymentField value={deployment ?? queryValue(visit, "deployment")} offered={offered} isLabelHidden />
        }
      />
    </Filters>
  );
}

/** The other filters with their values in words. */
function filtersOf(visit: ConsoleRequest, keys: readonly ApiKey[]) {
  const value = (name: string) => queryValue(visit, name);
  const texts: Partial<Record<keyof typeof labels, string | undefined>> = {
    failures: "",
    status: statusesIn(visit).join(", "),
    last: spanOptions.find(([span]) => span === value("last"))?.[1],
    keyId: keyOptions(keys, value("key")).find(([id]) => id === value("key"))?.[1],
    order: "oldest first",
    withoutFeedback: value("without") === anyName ? "" : value("without"),
  };
  return (Object.keys(labels) as (keyof typeof labels)[]).map((member) => ({
    name: names[member] ?? member,
    label: labels[member],
    text: texts[member],
  }));
}

/** Why a filter was refused, in the words of its fields. */
export function filterNotice(refusal: Refusal): Html {
  const { field = "" } = refusal,
    label = Object.hasOwn(labels, field) ? labels[field as keyof typeof labels] : undefined;
  return <Notice kind="error">{labelled(refusal, label)}.</Notice>;
}

const mostKeys = 100;

/** The keys to choose from, the newest ones. */
export const findKeys = async (visit: ConsoleRequest): Promise<ApiKey[]> =>
  (await visit.call(listApiKeys, { workspaceId: workspaceOf(visit).id, limit: mostKeys })).items;

type FilterFieldsProps = {
  visit: ConsoleRequest;
  keys: readonly ApiKey[];
  times?: readonly (readonly [value: string, label: string])[];
  /** The field for the deployment, where a page has all of them. */
  deployment?: Part;
  /** Looks for sessions by a part of their ids. */
  ofSessions?: boolean;
  /** Fields that the page has beside these. */
  children?: Part;
};

const allHold = "Of several lines, all must hold.";

/** The fields of the filter. Rarely used ones open from a menu. */
export function FilterFields(
  { visit, keys, times = spanOptions, deployment, ofSessions, children }: FilterFieldsProps,
): Html {
  const value = (name: string) => queryValue(visit, name);
  const hasFailures = workspaceOf(visit).statuses.some(({ isFailure }) => isFailure);
  const field = (member: keyof typeof labels, placeholder?: string) => {
    const name = names[member] ?? member;
    return { label: labels[member], name, value: value(name), ...placeholder !== undefined && { placeholder } };
  };
  const contains = field("sessionContains", "Part of a session's id"), text = field("text", "Text in input or output");
  const [search, other] = ofSessions ? [contains, text] : [text, field("sessionId")];
  return (
    <>
      <Field {...search} type="search" isLabelHidden isLong />
      {deployment}
      <Select {...field("last")} options={times} isLabelHidden />
      {statusFields(visit)}
      {hasFailures && <Checkbox label={labels.failures} name="failures" isChecked={value("failures") === "yes"} />}
      <Menu label="More filters" isWide>
        <div class="row">
          <Field {...other} />
          <Field {...field("promptVersion")} type="number" />
          <Field {...field("rollout", "NAME@DEPLOYMENT")} />
          <Select {...field("keyId")} options={keyOptions(keys, value("key"))} />
          <Field {...field("model")} />
          <Field {...field("slowerThan")} type="number" />
          <Field {...field("moreTokensThan")} type="number" />
          <Field {...field("costlierThan", "0.01")} />
          <Area {...field("where")} hint={`As in trace_id=4bf92f35. ${allHold}`} rows={2} />
          <Area {...field("feedback")} hint={`As in thumb=false or correctness<0.5. ${allHold}`} rows={2} />
          <Field {...field("withoutFeedback", "A name, or * for any")} />
          <Field {...field("from")} type="datetime-local" />
          <Field {...field("to")} type="datetime-local" />
          {children}
        </div>
      </Menu>
    </>
  );
}

/** A box for each status that has a name, and for each other one in the query. */
function statusFields(visit: ConsoleRequest): Html {
  const { statuses } = workspaceOf(visit);
  const chosen = statusesIn(visit);
  if (statuses.length === 0) {
    return (
      <Field
        label={labels.status}
        name="status"
        value={chosen.join(",")}
        placeholder="Status, as in 0,1"
        isLabelHidden
      />
    );
  }
  const all = new Set([...statuses.map(({ name }) => name), ...chosen]);
  return (
    <Menu label={labels.status}>
      <fieldset>
        <legend class="hide">{labels.status}</legend>
        {[...all].map((name, nth) => (
          <div class="check">
            <input
              type="checkbox"
              id={`status-${nth}`}
              name="status"
              value={exact(name)}
              checked={chosen.includes(name)}
            />
            <label for={`status-${nth}`}>{isolated(name)}</label>
          </div>
        ))}
      </fieldset>
    </Menu>
  );
}

function keyOptions(keys: readonly ApiKey[], chosen: string | undefined): [value: string, label: string][] {
  const known = keys.map(({ id, name, prefix }): [string, string] => [id, name === "" ? prefix : name]);
  if (chosen !== undefined && keys.every(({ id }) => id !== chosen)) known.push([chosen, chosen]);
  return [["", "Any key"], ...known];
}
