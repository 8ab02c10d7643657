// The sessions of a workspace, the one with the newest record first.
import { listSessions } from "../../management/sessions.ts";
import { dash, excerpt, number, time, usd } from "../format.tsx";
import { markup } from "../html.ts";
import { asked, link, workspaceOf } from "../page.ts";
import type { Page } from "../page.ts";
import { empty } from "../parts/empty.tsx";
import { filters, select } from "../parts/form.tsx";
import { heading } from "../parts/heading.tsx";
import { pager, table } from "../parts/table.tsx";
import { findWith, spanOf, spanOptions } from "./inputs.ts";
import { filterNotice } from "./record-filter.ts";

const pageSize = 25;

export const sessionsPage: Page = {
  path: "/:workspaceId/sessions",
  section: "sessions",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const { found, refusal } = await findWith(async () => {
      const cursor = asked(visit, "cursor");
      return await visit.call(listSessions, { workspaceId, ...spanOf(visit), limit: pageSize, cursor });
    });
    const { items = [], nextCursor = null } = found ?? {};
    return {
      title: "Sessions",
      ...refusal && { kind: refusal.kind },
      body: markup`${
        heading({ title: "Sessions", lede: "What applications did under one session id, across all deployments." })
      }${filters(select({ label: "Time", name: "last", value: asked(visit, "last"), options: spanOptions }))}${
        refusal !== undefined ? filterNotice(refusal) : items.length === 0
          ? empty(
            nextCursor === null ? "No session" : "Nothing found so far",
            nextCursor === null
              ? "A record names its session. There is none in this time."
              : "Go on with the older part.",
          )
          : table("Sessions", items, [
            {
              label: "Session",
              isHead: true,
              cell: ({ sessionId }) =>
                markup`<a href="${link(visit, ["session"], { id: sessionId })}">${excerpt(sessionId, 60)}</a>`,
            },
            { label: "Records", isNumber: true, cell: ({ records }) => number(records) },
            {
              label: "Failed",
              isNumber: true,
              cell: ({ failures }) =>
                failures === null ? dash : failures === 0 ? number(0) : markup`<strong>${number(failures)} ✕</strong>`,
            },
            {
              label: "Cost",
              isNumber: true,
              cell: ({ cost, records, unpriced }) => unpriced === records ? dash : usd(cost),
            },
            { label: "First", cell: ({ firstAt }) => time(firstAt) },
            { label: "Last", cell: ({ lastAt }) => time(lastAt) },
          ])
      }${pager(nextCursor, (cursor) => link(visit, ["sessions"], { last: asked(visit, "last"), cursor }))}`,
    };
  },
};
