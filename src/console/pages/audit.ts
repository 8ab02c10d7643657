// The audit log: who changed what, when and why, with filters and export.
import { stringify } from "../../common/json-text.ts";
import { exportAuditEntries, listAuditEntries } from "../../management/audit.ts";
import type { AuditEntry } from "../../management/audit.ts";
import { dash, time } from "../format.ts";
import { isolated, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { asked, link, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { empty } from "../parts/empty.ts";
import { checkbox, field, filters, select } from "../parts/form.ts";
import { heading } from "../parts/heading.ts";
import { pager, table } from "../parts/table.ts";
import { rangeOf, spanOptions } from "./inputs.ts";

const pageSize = 50;

export const auditPage: Page = {
  path: "/:workspaceId/audit",
  section: "audit",
  async show(visit) {
    const { items, nextCursor } = await visit.call(listAuditEntries, {
      ...filterIn(visit),
      limit: pageSize,
      cursor: asked(visit, "cursor"),
    });
    const query = Object.fromEntries(visit.query);
    return {
      title: "Audit",
      isWide: true,
      body: markup`${
        heading({
          title: "Audit log",
          lede:
            markup`Every change, newest first. Entries are never modified: <code>promptledger verify</code> proves it.`,
          actions: markup`<a class="button" href="${
            link(visit, ["audit", "export"], { ...query, cursor: "" })
          }" download>Export JSON</a>`,
        })
      }${
        filters(
          markup`${
            field({
              label: "Action",
              name: "action",
              value: asked(visit, "action"),
              placeholder: "deployment.promoted",
            })
          }${field({ label: "Who", name: "actor", value: asked(visit, "actor") })}${
            field({ label: "Id of what changed", name: "target", value: asked(visit, "target") })
          }${select({ label: "Time", name: "last", value: asked(visit, "last"), options: spanOptions })}${
            visit.caller.workspaceId === undefined && checkbox("All workspaces", "everywhere", isEverywhere(visit))
          }`,
          visit.query.size > 0 ? link(visit, ["audit"]) : undefined,
        )
      }${items.length === 0 ? empty("No entry matches", "Take a filter away.") : changesTable(visit, items, true)}${
        pager(nextCursor, (cursor) => link(visit, ["audit"], { ...query, cursor }))
      }`,
    };
  },
};

export const auditExport: Page = {
  path: "/:workspaceId/audit/export",
  section: "audit",
  async show(visit) {
    return { answer: visit.download(await visit.call(exportAuditEntries, filterIn(visit))) };
  },
};

const isEverywhere = (visit: Visit): boolean => asked(visit, "everywhere") === "yes";

const filterIn = (visit: Visit) => ({
  ...(isEverywhere(visit) ? {} : { workspaceId: workspaceOf(visit).id }),
  action: asked(visit, "action"),
  actor: asked(visit, "actor"),
  target: asked(visit, "target"),
  ...rangeOf(visit),
});

/** Entries as a table. With `isWhole` each has the members that changed. */
export const changesTable = (visit: Visit, entries: readonly AuditEntry[], isWhole = false): Html =>
  table("Changes", entries, [
    { label: "When", cell: ({ createdAt }) => time(createdAt) },
    { label: "What", isHead: true, cell: (entry) => actionOf(visit, entry) },
    { label: "Who", cell: ({ actor, source }) => actor === "" ? source : isolated(actor) },
    { label: "Why", isMain: true, cell: ({ note }) => note === "" ? dash : isolated(note) },
    ...(isWhole ? [{ label: "Members", cell: membersOf }] : []),
  ]);

/** What happened, with a link to the thing that changed. */
function actionOf(visit: Visit, { action, targetId, workspaceId, before, after }: AuditEntry): Part {
  const [noun, verb] = action.split(".") as [string, string];
  const path = { deployment: "deployments", prompt: "prompts", key: "keys", token: "tokens" }[noun];
  const from = before?.currentVersion, to = after?.currentVersion ?? after?.latestVersion;
  const words = markup`${noun} ${verb.replaceAll("_", " ")}${
    typeof to === "number" && markup`${typeof from === "number" && `v${from} → `}v${to}`
  }`;
  const isHere = path !== undefined && targetId !== null && (workspaceId === visit.workspace?.id || noun === "token");
  return isHere ? markup`<a href="${link(visit, [path, targetId])}">${words}</a>` : words;
}

const maxJson = 2_000; // characters

const membersOf = ({ before, after, position }: AuditEntry): Part =>
  markup`<details><summary>Entry ${position}</summary><pre class="mono">${
    before !== null && `before ${stringify(before).slice(0, maxJson)}\n`
  }${
    after !== null &&
    `after ${stringify(after).slice(0, maxJson)}`
  }</pre></details>`;
