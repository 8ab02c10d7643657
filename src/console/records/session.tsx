// A session: its records across all deployments as a tree, oldest first, with a bar for the time that each took.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { RecordId } from "../../common/ids.ts";
import { boundLatency } from "../../statistics/histogram.ts";
import { addFeedback } from "../../management/feedback/feedback.ts";
import { deleteWorkspaceSession, listSessions, showSession } from "../../management/records/sessions.ts";
import type { Session } from "../../management/records/sessions.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { counted, dash, duration, exactTime, excerpt, number, usd } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, missingRole, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { lastText, valuesOf } from "../frame/conversation.ts";
import type { PartName } from "../frame/conversation.ts";
import { piecesOf } from "./feedback.ts";
import { Bar } from "../frame/chart.tsx";
import { statusChip } from "../frame/chips.tsx";
import { Empty, Fact, Facts, Pager } from "../frame/elements.tsx";
import { FeedbackChips } from "./feedback-parts.tsx";
import { deleteForm } from "../frame/form.tsx";

const pageSize = 25; // so that a page of short records stays light
const mostChips = 5; // pieces of feedback on a record
const mostIndented = 5; // levels of the tree

export const sessionPage: Page = {
  path: "/:workspaceId/session",
  async show(visit) {
    const sessionId = queryValue(visit, "id") ?? "", { id: workspaceId } = workspaceOf(visit);
    const cursor = queryValue(visit, "cursor");
    const page = { workspaceId, sessionId, limit: pageSize, cursor };
    const { items, nextCursor } = await visit.call(showSession, page, [0, 0.5]);
    const { items: [totals] } = await visit.call(listSessions, { workspaceId, sessionId }, [0.5, 1]);
    const isPart = cursor !== undefined || nextCursor !== null;
    return {
      title: `Session ${sessionId.slice(0, 60)}`,
      heading: <>Session {isolated(sessionId.slice(0, 200))}</>,
      lede: "Its records across all deployments, oldest first. A record stands below the one that led to it.",
      body: (
        <>
          {totals !== undefined && totalsOf(totals)}
          {isPart && <p class="hint">{counted(items.length, "record")} on this page.</p>}
          {items.length === 0
            ? <Empty title="No records">They may have been deleted, or are older than the workspace keeps them.</Empty>
            : timelineOf(visit, items)}
          <Pager
            next={nextCursor}
            href={(cursor) => link(visit, ["session"], { id: sessionId, cursor })}
            label="Newer"
          />
          {deleteForm(
            visit,
            deleteWorkspaceSession,
            "session",
            "The content of all its records is removed for good. Their calls stay in the ledger.",
          )}
        </>
      ),
    };
  },
  async act(visit) {
    const sessionId = queryValue(visit, "id") ?? "", { id: workspaceId } = workspaceOf(visit);
    await visit.call(deleteWorkspaceSession, { workspaceId, sessionId });
    return { redirect: link(visit, ["sessions"]) };
  },
};

/** The totals of the whole session. */
const totalsOf = ({ records, failures, cost, unpriced, firstAt, lastAt }: Session): Html => (
  <Facts>
    <Fact label="Records">{number(records)}</Fact>
    <Fact label="Failed">{failures === null ? dash : number(failures)}</Fact>
    <Fact label="Cost">{unpriced === records ? dash : usd(cost)}</Fact>
    <Fact label="Without a cost">{number(unpriced)}</Fact>
    <Fact label="First">{exactTime(firstAt)}</Fact>
    <Fact label="Last">{exactTime(lastAt)}</Fact>
  </Facts>
);

type Entry = { record: Diagnosis; parentId: RecordId | null };

/** The time that a record took, in Unix ms: as it was sent, or up to when it was stored. */
function spanOf(record: Diagnosis): { start: number; end: number } {
  const { startAt, endAt, latency } = valuesOf(record), took = boundLatency(latency ?? 0);
  const end = endAt ?? (startAt === null ? record.createdAt : startAt + took);
  return { start: Math.min(startAt ?? end - took, end), end };
}

function timelineOf(visit: ConsoleRequest, entries: readonly Entry[]): Html {
  const spans = entries.map(({ record }) => spanOf(record));
  const start = Math.min(...spans.map(({ start }) => start)), end = Math.max(...spans.map(({ end }) => end));
  // A parent may be on another page.
  const shown = new Set<RecordId | null>(entries.map(({ record }) => record.id));
  const children = (parent: RecordId | null, level = 0): Part => {
    const own = entries.filter(({ parentId }) => (shown.has(parentId) ? parentId : null) === parent);
    return own.length > 0 && (
      <ol class={level > mostIndented ? "session deep" : "session"}>
        {own.map(({ record }) => (
          <li>
            {entryOf(visit, record, { start, length: Math.max(end - start, 1) })}
            {children(record.id, level + 1)}
          </li>
        ))}
      </ol>
    );
  };
  return (
    <>
      <p class="hint">From {exactTime(start)}, {duration(end - start)} in all.</p>
      {children(null)}
    </>
  );
}

function entryOf(visit: ConsoleRequest, record: Diagnosis, whole: { start: number; length: number }): Html {
  const { status, latency } = valuesOf(record), pieces = piecesOf(record);
  const mayGive = missingRole(visit, addFeedback) === undefined;
  return (
    <article class="card entry">
      <div class="line">
        <a href={link(visit, ["records", record.id])}>{exactTime(record.createdAt)}</a>
        <span class="chips">
          {record.reference !== null && <span class="hint">{isolated(record.reference)} v{record.promptVersion}</span>}
          {statusChip(visit, status)}
        </span>
      </div>
      {barOf(record, whole)}
      <p class="hint">{duration(latency)}</p>
      {excerptOf(record, "input")}
      {excerptOf(record, "output")}
      {(pieces.length > 0 || mayGive) && (
        <p class="line">
          <FeedbackChips pieces={pieces} most={mostChips} />
          {mayGive && <a href={`${link(visit, ["records", record.id])}#feedback`}>Give feedback</a>}
        </p>
      )}
    </article>
  );
}

/** The time that a record took, as a part of the whole. */
function barOf(record: Diagnosis, whole: { start: number; length: number }): Html {
  const { start, end } = spanOf(record);
  const left = 100 * (start - whole.start) / whole.length, width = Math.max(100 * (end - start) / whole.length, 0.6);
  const label = `Began ${Math.round(start - whole.start)} ms after the first and took ${Math.round(end - start)} ms`;
  return <Bar label={label} x={Math.min(left, 100 - width)} width={width} />;
}

function excerptOf(record: Diagnosis, name: PartName): Part {
  const text = lastText(record, name);
  return text !== undefined && <p class={name}>{excerpt(text, 200)}</p>;
}
