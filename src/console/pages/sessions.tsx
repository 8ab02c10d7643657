// The sessions of a workspace, the one with the newest record first.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { listSessions } from "../../management/sessions.ts";
import type { Session } from "../../management/sessions.ts";
import { dash, excerpt, number, time, usd } from "../format.tsx";
import { Fragment, h } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { asked, link, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { Empty } from "../parts/empty.tsx";
import { Filters, Select } from "../parts/form.tsx";
import { Heading } from "../parts/heading.tsx";
import { Pager, Table } from "../parts/table.tsx";
import { findWith, spanOf, spanOptions } from "./inputs.tsx";
import { filterNotice } from "./record-filter.tsx";

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
      body: (
        <>
          <Heading
            title="Sessions"
            lede="What applications did under one session id, across all deployments."
          />
          <Filters>
            <Select label="Time" name="last" value={asked(visit, "last")} options={spanOptions} />
          </Filters>
          {refusal !== undefined
            ? filterNotice(refusal)
            : items.length > 0
            ? sessionsTable(visit, items)
            : nextCursor === null
            ? <Empty title="No session">A record names its session. There is none in this time.</Empty>
            : <Empty title="Nothing found so far">Go on with the older part.</Empty>}
          <Pager
            next={nextCursor}
            href={(cursor) => link(visit, ["sessions"], { last: asked(visit, "last"), cursor })}
          />
        </>
      ),
    };
  },
};

const sessionsTable = (visit: Visit, sessions: readonly Session[]): Html => (
  <Table
    caption="Sessions"
    rows={sessions}
    columns={[
      {
        label: "Session",
        isHead: true,
        cell: ({ sessionId }) => <a href={link(visit, ["session"], { id: sessionId })}>{excerpt(sessionId, 60)}</a>,
      },
      { label: "Records", isNumber: true, cell: ({ records }) => number(records) },
      { label: "Failed", isNumber: true, cell: failuresOf },
      {
        label: "Cost",
        isNumber: true,
        cell: ({ cost, records, unpriced }) => unpriced === records ? dash : usd(cost),
      },
      { label: "First", cell: ({ firstAt }) => time(firstAt) },
      { label: "Last", cell: ({ lastAt }) => time(lastAt) },
    ]}
  />
);

function failuresOf({ failures }: Session): Part {
  if (failures === null) return dash;
  return failures === 0 ? number(0) : <strong>{number(failures)} ✕</strong>;
}
