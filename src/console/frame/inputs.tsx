// Reads what people enter into forms and filters: numbers, times and spans.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { DeploymentId } from "../../common/ids.ts";
import { invalidField, Refusal, refusalAt, wrongField } from "../../common/errors.ts";
import { getDeployment, listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { h } from "./html.ts";
import type { Html } from "./html.ts";
import { formValue, listMost, queryValue, queryWord, workspaceOf } from "./page.ts";
import type { ConsoleRequest } from "./page.ts";
import { Field, Select } from "./form.tsx";

// With groups of three as the console shows them, `1,000` or `1 000`, but not `1,5` or `10,00`.
const wholeNumber = /^-?(?:\d{1,16}|\d{1,3}([,\s])\d{3}(?:\1\d{3})*)$/;
const decimalNumber = /^-?\d{1,15}(\.\d{1,15})?$/;

/** A whole number that a person typed; NaN if invalid. */
export function readWhole(text: string): number {
  const value = wholeNumber.test(text) ? Number(text.replace(/[,\s]/g, "")) : NaN;
  return Number.isSafeInteger(value) ? value : NaN;
}

/** A number with or without decimals behind a point; NaN if invalid. */
export const readDecimal = (text: string): number => decimalNumber.test(text) ? Number(text) : NaN;

const hasSeparator = (text: string): boolean => /\d[\s.,'’_]+\d/.test(text);

/** A whole number that a form sent. Throws, naming the field, if it is invalid. */
export function numberIn(visit: ConsoleRequest, name: string, label = name): number | undefined {
  const text = formValue(visit, name);
  if (text === undefined) return undefined;
  const value = readWhole(text);
  if (Number.isNaN(value)) {
    const expected = `a whole number${hasSeparator(text) ? " without separators, such as 1000" : ""}`;
    throw invalidField(name, `${label} must be ${expected}`, expected);
  }
  return value;
}

/** A number with or without decimals, if there is a text. Throws, naming the field, if it is invalid. */
export function decimalIn(text: string | undefined, name: string, hint = ""): number | undefined {
  if (text === undefined) return undefined;
  const value = readDecimal(text);
  if (Number.isNaN(value)) {
    throw wrongField(name, `a number${hasSeparator(text) ? ", with a point before decimals" : hint}`);
  }
  return value;
}

/** The lines of a text that are not empty. */
export const linesIn = (text: string | undefined): string[] | undefined =>
  text?.split(/[\r\n]+/).map((line) => line.trim()).filter((line) => line !== "");

/** Result of a page, or why its filter was refused. */
type Found<T> = { found: T; refusal?: undefined } | { found?: undefined; refusal: Refusal };

/** Runs the query of a filter. If it is refused, the page shows its form again, with the reason. */
export async function findWith<T>(find: () => Promise<T>): Promise<Found<T>> {
  try {
    return { found: await find() };
  } catch (error) {
    if (error instanceof Refusal && (error.kind === "invalid" || error.kind === "conflict")) return { refusal: error };
    throw error;
  }
}

const day = 86_400_000; // ms

const mostDays = 3_660;

/** Days that a form sent, in ms. Nothing means for ever. `label` is that of the field. */
export function daysIn(visit: ConsoleRequest, name: string, label: string): number | null {
  const days = numberIn(visit, name, label);
  if (days === undefined) return null;
  if (days < 1 || days > mostDays) {
    const expected = `from 1 to ${mostDays}, or empty`;
    throw invalidField(name, `${label} must be ${expected}`, expected);
  }
  return days * day;
}

/** A refusal with the label of its field, if the form or the filter has that. */
export const labelled = (refusal: Refusal, label: string | undefined): string =>
  label === undefined || refusal.expected === undefined ? refusal.message : `${label} must be ${refusal.expected}`;

/**
 * Makes a change. If it is refused for a field, the refusal names it as the form does. `names` are those of the form's fields
 * that have other ones than the members of the input.
 */
export async function withLabels<T>(
  labelOf: (path: string) => string | undefined,
  change: () => Promise<T>,
  names: Readonly<Record<string, string>> = {},
) {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof Refusal) || error.field === undefined) throw error;
    throw refusalAt(names[error.field] ?? error.field, error, labelled(error, labelOf(error.field)));
  }
}

/** Spans of time that filters offer, in ms. */
const spans = { "1h": 3_600_000, "24h": day, "7d": 7 * day, "30d": 30 * day } as const;
export const spanOptions = [
  ["", "Any time"],
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
] as const;

type Range = { from?: number; to?: number };

/** Time range of the query, in Unix ms: within the span up to now, and from one moment to another. */
export function rangeOf(visit: ConsoleRequest): Range {
  const from = momentOf(queryValue(visit, "from"), "from") ?? -Infinity, to = momentOf(queryValue(visit, "to"), "to");
  const start = Math.max(from, spanOf(visit).from ?? -Infinity);
  return { ...(start < 0 ? {} : { from: start }), ...(to === undefined ? {} : { to }) };
}

/** The span up to now that the query asks for: one of `spans`, or all time. */
export function spanOf(visit: ConsoleRequest): Range {
  if (queryValue(visit, "last") === "all") return {};
  const last = queryWord(visit, "last", Object.keys(spans) as (keyof typeof spans)[]);
  return last === undefined ? {} : { from: visit.now - spans[last] };
}

const moment =
  /^(?<day>\d{4}-\d\d-\d\d)(?:[T ](?<time>\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(?:Z|(?<hours>[+-]\d\d):?(?<minutes>\d\d))?)?$/;

/** A moment in UTC as a browser sends it or a person types it, or one with a zone. `field` has it. */
export function momentOf(text: string | undefined, field: string): number | undefined {
  if (text === undefined) return undefined;
  const { day = "", time = "00:00", hours = "+00", minutes = "00" } = moment.exec(text)?.groups ?? {};
  const at = Date.parse(`${day}T${time}${hours}:${minutes}`);
  // Date.parse takes 2026-02-30 as a day in March.
  if (!(at >= 0) || !new Date(`${day}T00:00Z`).toISOString().startsWith(day)) {
    throw invalidField(field, "A time must look like 2026-11-15T12:00");
  }
  return at;
}

/** A moment as short as the same can be read from: `2026-11-15`, `2026-11-15T12:00`. */
export const momentText = (at: number): string => new Date(at).toISOString().replace(/(T00:00:00|:00)?(\.000)?Z$/, "");

/** The deployment to begin with: the one named production, else the oldest, of a list with the newest first. */
export const mainOf = (deployments: readonly Deployment[]): Deployment | undefined =>
  deployments.find(({ name, archivedAt }) => name === "production" && archivedAt === null) ??
    deployments.findLast(({ archivedAt }) => archivedAt === null) ?? deployments.at(-1);

const mostOptions = 200;

/** The deployments that a form offers. If there are very many, the newest; the form then takes a name. */
export type Offered = { deployments: Deployment[]; isWhole: boolean };

export async function findOffered(visit: ConsoleRequest, archived = false): Promise<Offered> {
  const { id: workspaceId } = workspaceOf(visit);
  const list = (page: { limit: number; cursor: string | undefined }) =>
    visit.call(listDeployments, { workspaceId, archived, ...page });
  const { items: deployments, nextCursor } = await listMost(list, undefined, mostOptions);
  return { deployments, isWhole: nextCursor === null };
}

/** The deployment of the workspace with this id or reference; undefined if not found. */
export async function findDeployment(visit: ConsoleRequest, ref: string): Promise<Deployment | undefined> {
  try {
    return await visit.call(getDeployment, { id: ref as DeploymentId, workspaceId: workspaceOf(visit).id });
  } catch (error) {
    if (error instanceof Refusal && error.kind === "not_found") return undefined;
    throw error;
  }
}

/** The references of deployments by their ids. */
export async function findReferences(
  visit: ConsoleRequest,
  ids: readonly (DeploymentId | null)[],
): Promise<Map<string, string>> {
  const named = [...new Set(ids)].filter((id) => id !== null);
  const found = await Promise.all(named.map((id) => findDeployment(visit, id)));
  return new Map(found.flatMap((deployment) => deployment ? [[deployment.id, deployment.reference]] : []));
}

type DeploymentFieldProps = {
  label?: string;
  name?: string;
  value: Deployment | string | null | undefined;
  offered: Offered;
  isLabelHidden?: boolean;
};

const all = "All deployments";

/** A field for a deployment, or for all: a choice, or a text if there are too many to choose from. */
export function DeploymentField(
  { label = "Deployment", name = "deployment", value, offered, isLabelHidden = false }: DeploymentFieldProps,
): Html {
  const isKnown = typeof value === "object" && value !== null, field = { label, name, isLabelHidden };
  if (!offered.isWhole) {
    const hint = `An id, or a reference such as support/assistant@production. If empty: ${all}.`;
    return (
      <Field
        {...field}
        value={isKnown ? value.reference : value}
        {...isLabelHidden ? { placeholder: all } : { hint }}
      />
    );
  }
  const options = offered.deployments.map(({ id, reference, archivedAt }) =>
    [id, archivedAt === null ? reference : `${reference} (archived)`] as const
  );
  return <Select {...field} value={isKnown ? value.id : value} options={[["", all], ...options]} />;
}
