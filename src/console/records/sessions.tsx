// The sessions of a workspace, the one with the newest record first.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { listSessions } from "../../management/records/sessions.ts";
import type { Session } from "../../management/records/sessions.ts";
import { ago, dash, excerpt, number, usd } from "../frame/format.tsx";
import { Fragment, h } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, queryOf, queryValue } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Pager, Table } from "../frame/elements.tsx";
import { feedbackLine } from "./feedback-figures.tsx";
import { findWith } from "../frame/inputs.tsx";
import { filterNotice, findChoices, workspaceFilterIn, WorkspaceFilters } from "./record-filter.tsx";

const pageSize = 25;

export const sessionsPage: Page = {
  path: "/:workspaceId/sessions",
  async show(visit) {
    const [choices, { found, refusal }] = await Promise.all([
      findChoices(visit),
      findWith(async () => {
        const filter = { ...await workspaceFilterIn(visit), sessionContains: queryValue(visit, "contains") };
        return await visit.call(listSessions, { ...filter, limit: pageSize, cursor: queryValue(visit, "cursor") });
      }),
    ]);
    const { items = [], nextCursor = null } = found ?? {};
    return {
      title: "Sessions",
      ...refusal && { kind: refusal.kind },
      heading: "Sessions",
      lede: "What applications did under one session id, across all deployments.",
      body: (
        <>
          <WorkspaceFilters visit={visit} path="sessions" choices={choices} ofSessions />
          {refusal !== undefined
            ? filterNotice(refusal)
            : items.length > 0
            ? sessionsTable(visit, items)
            : nextCursor === null
            ? noneFound(visit)
            : <Empty title="Nothing found so far">Go on with the older part.</Empty>}
          <Pager
            next={nextCursor}
            href={(cursor) => link(visit, ["sessions"], { ...queryOf(visit), cursor })}
          />
        </>
      ),
    };
  },
};

const noneFound = ({ query }: ConsoleRequest): Html =>
  query.size > 0
    ? <Empty title="No session matches">Widen the time, or take a filter away.</Empty>
    : <Empty title="No session yet">A record names its session, and there is no record yet.</Empty>;

const sessionsTable = (visit: ConsoleRequest, sessions: readonly Session[]): Html => (
  <Table
    caption="Sessions"
    isDense
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
      sessions.some(({ feedback }) => feedback.length > 0) && {
        label: "Feedback",
        isMain: true,
        cell: (session) => session.feedback.length > 0 ? feedbackLine(session) : dash,
      },
      { label: "First", cell: ({ firstAt }) => ago(firstAt, visit.now) },
      { label: "Last", cell: ({ lastAt }) => ago(lastAt, visit.now) },
    ]}
  />
);

function failuresOf({ failures }: Session): Part {
  if (failures === null) return dash;
  return failures === 0 ? number(0) : <strong>{number(failures)} ✕</strong>;
}
