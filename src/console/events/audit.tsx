// The audit log: who changed what, when and why, with filters and export.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { stringify } from "../../common/json-text.ts";
import { exportAuditEntries, listAuditEntries } from "../../management/events/audit.ts";
import type { AuditEntry } from "../../management/events/audit.ts";
import { listDeployments } from "../../management/deployments/deployments.ts";
import { allNouns } from "../../management/kernel/nouns.ts";
import { originIn } from "../../management/kernel/origin.ts";
import { listPrompts } from "../../management/prompts/prompts.ts";
import { ago } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { isChecked, link, listMost, queryOf, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page, Resource } from "../frame/page.ts";
import { Empty, FilterChips, Pager, Table } from "../frame/elements.tsx";
import { Checkbox, Field, Filters, Select } from "../frame/form.tsx";
import { reasonOf } from "../frame/origin.tsx";
import { findWith, rangeOf, spanOptions } from "../frame/inputs.tsx";
import { filterNotice } from "../records/record-filter.tsx";

const pageSize = 50;

export const auditPage: Page = {
  path: "/:workspaceId/audit",
  async show(visit) {
    const [{ found, refusal }, names] = await Promise.all([
      findWith(async () => {
        const cursor = queryValue(visit, "cursor");
        return await visit.call(listAuditEntries, { ...filterIn(visit), limit: pageSize, cursor });
      }),
      findNames(visit),
    ]);
    const { items = [], nextCursor = null } = found ?? {};
    const { cursor: _, ...query } = queryOf(visit);
    const field = (name: string, label: string) => (
      { name, label, placeholder: label, value: queryValue(visit, name), isLabelHidden: true }
    );
    return {
      title: "Audit",
      isWide: true,
      ...refusal && { kind: refusal.kind },
      heading: "Audit log",
      lede: (
        <>
          Every change, newest first. Entries are never modified: <code>promptledger verify</code> proves it.
        </>
      ),
      actions: (
        <>
          <a class="button plain" href={link(visit, ["audit", "types"])}>Types of events</a>
          <a class="button" href={link(visit, ["audit", "export"], query)} download>Export JSON</a>
        </>
      ),
      body: (
        <>
          <Filters chips={<FilterChips visit={visit} path="audit" filters={filtersOf(visit)} />}>
            <Field {...field("action", "Action")} placeholder="Action, as in deployment.promoted,key" isLong />
            <Field {...field("actor", "Who")} />
            <Field {...field("target", "Id of what changed")} />
            <Select label="Time" name="last" value={queryValue(visit, "last")} options={spanOptions} isLabelHidden />
            {visit.caller.workspaceId === undefined && (
              <Checkbox
                label="All workspaces"
                name="everywhere"
                isChecked={queryValue(visit, "everywhere") === "yes"}
              />
            )}
          </Filters>
          {refusal !== undefined
            ? filterNotice(refusal)
            : items.length === 0
            ? <Empty title="No entry matches">Take a filter away.</Empty>
            : <Changes visit={visit} entries={items} names={names} isWhole />}
          <Pager next={nextCursor} href={(cursor) => link(visit, ["audit"], { ...query, cursor })} />
        </>
      ),
    };
  },
};

export const auditExport: Resource = {
  path: "/:workspaceId/audit/export",
  async answer(visit) {
    return visit.download(await visit.call(exportAuditEntries, filterIn(visit)));
  },
};

const filterIn = (visit: ConsoleRequest) => ({
  ...(isChecked(visit, "everywhere") ? {} : { workspaceId: workspaceOf(visit).id }),
  action: queryValue(visit, "action"),
  actor: queryValue(visit, "actor"),
  target: queryValue(visit, "target"),
  ...rangeOf(visit),
});

const filtersOf = (visit: ConsoleRequest) => [
  { name: "action", label: "Action" },
  { name: "actor", label: "Who" },
  { name: "target", label: "Id" },
  { name: "last", label: "Time", text: spanOptions.find(([span]) => span === queryValue(visit, "last"))?.[1] },
  { name: "everywhere", label: "All workspaces", text: "" },
];

/**
 * Names of prompts and deployments by id, since the log of changes has only ids. If there are very many, only the
 * newest are found; the others show without a name.
 */
type Names = ReadonlyMap<string, string>;

export async function findNames(visit: ConsoleRequest): Promise<Names> {
  const input = { workspaceId: workspaceOf(visit).id, archived: true };
  const [deployments, prompts] = await Promise.all([
    listMost((page) => visit.call(listDeployments, { ...input, ...page })),
    listMost((page) => visit.call(listPrompts, { ...input, ...page })),
  ]);
  return new Map([
    ...deployments.items.map(({ id, reference }) => [id, reference] as const),
    ...prompts.items.map(({ id, name }) => [id, name] as const),
  ]);
}

type ChangesProps = { visit: ConsoleRequest; entries: readonly AuditEntry[]; names: Names; isWhole?: boolean };

/** Entries as a table. With `isWhole` each has the members that changed. */
export const Changes = ({ visit, entries, names, isWhole = false }: ChangesProps): Html => (
  <Table
    caption="Changes"
    rows={entries}
    columns={[
      { label: "When", cell: ({ createdAt }) => ago(createdAt, visit.now) },
      { label: "What", isHead: true, isWhole: true, cell: (entry) => actionOf(visit, entry, names) },
      { label: "Who", cell: (entry) => authorOf(entry, isWhole) },
      { label: "Why", isMain: true, cell: ({ note, after }) => reasonOf({ note, origin: originIn(after ?? {}) }) },
      isWhole && { label: "Members", cell: membersOf },
    ]}
  />
);

/** Token or user. The source of the change is added on request, or replaces an empty name. */
const authorOf = ({ actor, source }: AuditEntry, isWhole: boolean): Part =>
  actor === "" ? source : [isolated(actor), isWhole && <p class="hint whole">{source}</p>];

/** The action, and the thing that changed. */
function actionOf(
  visit: ConsoleRequest,
  { action, targetId, workspaceId, before, after }: AuditEntry,
  names: Names,
): Part {
  const [noun, verb] = action.split(".") as [string, string];
  const { page = "", owner } = allNouns.get(noun) ?? {};
  const path = page.split("/").map((part) => part === ":id" ? verb === "deleted" ? "" : targetId ?? "" : part);
  const from = before?.currentVersion, to = after?.currentVersion ?? after?.latestVersion;
  const name = names.get(targetId ?? "") ?? [after?.name, before?.name].find((name) => typeof name === "string");
  const words = [
    noun.replaceAll("_", " "),
    " ",
    verb.replaceAll("_", " "),
    typeof to === "number" && ` ${typeof from === "number" ? `v${from} → ` : ""}v${to}`,
  ];
  const isHere = workspaceId === visit.workspace?.id || owner === "service" || owner === "either";
  return [
    isHere && !path.includes("") ? <a href={link(visit, path)}>{words}</a> : words,
    typeof name === "string" && <p class="hint">{breakable(name)}</p>,
  ];
}

const maxJson = 2_000; // characters

const membersOf = ({ before, after, position }: AuditEntry): Html => (
  <details>
    <summary>Entry {position}</summary>
    <pre class="mono">
      {before !== null && `before ${stringify(before).slice(0, maxJson)}\n`}
      {after !== null && `after ${stringify(after).slice(0, maxJson)}`}
    </pre>
  </details>
);
