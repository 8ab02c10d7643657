// The records of a workspace with filters, and their export.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { RecordId } from "../../common/ids.ts";
import { after } from "../../common/timeout.ts";
import { findFirst } from "../../database/page.ts";
import type { SearchResult } from "../../database/page.ts";
import { exportFormats } from "../../management/kernel/export.ts";
import { listRecordFigures } from "../../management/records/record-figures.ts";
import type { RecordFigures } from "../../management/records/record-figures.ts";
import { exportWorkspaceDiagnoses, listWorkspaceDiagnoses } from "../../management/records/records.ts";
import type { Feedback } from "../../schema/feedback.ts";
import { createReview } from "../../management/feedback/reviews.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { ago, dash, duration, excerpt, number, usd } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, missingRole, queryOf, queryValue, queryWord, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page, Resource } from "../frame/page.ts";
import { statusChip } from "../frame/chips.tsx";
import { piecesOf } from "./feedback.ts";
import { Empty, Pager, Table } from "../frame/elements.tsx";
import { pieceText } from "./feedback-parts.tsx";
import { Select } from "../frame/form.tsx";
import { lastText, valuesOf } from "../frame/conversation.ts";
import type { PartName } from "../frame/conversation.ts";
import { findWith } from "../frame/inputs.tsx";
import { filterNotice, findChoices, workspaceFilterIn, WorkspaceFilters } from "./record-filter.tsx";

const pageSize = 20; // so that a page of long texts stays light
const orders = [["", "Newest first"], ["oldest", "Oldest first"]] as const;

export const recordsPage: Page = {
  path: "/:workspaceId/records",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const [choices, { found, refusal }] = await Promise.all([
      findChoices(visit),
      findWith(async () => {
        const input = { ...await requestIn(visit), limit: pageSize, cursor: queryValue(visit, "cursor") };
        return await visit.call(listWorkspaceDiagnoses, input);
      }),
    ]);
    const { deployment } = choices;
    const { items = [], nextCursor = null } = found ?? {};
    const { items: figures } = items.length === 0
      ? { items: [] }
      : await visit.call(listRecordFigures, { workspaceId, ids: items.map(({ id }) => id).join() });
    const { cursor: _, ...query } = queryOf(visit);
    const exported = (format: string) => link(visit, ["records", "export"], { ...query, format });
    return {
      title: deployment === undefined ? "Records" : `Records of ${deployment.reference}`,
      isWide: true,
      ...refusal && { kind: refusal.kind },
      heading: "Records",
      lede: `What applications submitted, ${orderIn(visit)} first.`,
      actions: items.length > 0 && (
        <>
          {deployment && <a class="button" href={link(visit, ["deployments", deployment.id, "stats"])}>Statistics</a>}
          {missingRole(visit, createReview) === undefined && (
            <a class="button" href={link(visit, ["reviews", "new"], query)}>Review these</a>
          )}
          <a class="button" href={exported("ndjson")} download>Export JSON</a>
          <a class="button" href={exported("csv")} download>Export CSV</a>
        </>
      ),
      body: (
        <>
          <WorkspaceFilters visit={visit} path="records" choices={choices}>
            <Select label="Order" name="order" value={queryValue(visit, "order")} options={orders} />
          </WorkspaceFilters>
          {refusal !== undefined
            ? filterNotice(refusal)
            : items.length > 0
            ? recordsTable(visit, items, new Map(figures.map((each) => [each.id, each])), deployment === undefined)
            : noneFound(visit, nextCursor !== null)}
          <Pager
            next={nextCursor}
            href={(cursor) => link(visit, ["records"], { ...query, cursor })}
            label={orderIn(visit) === "oldest" ? "Newer" : "Older"}
          />
        </>
      ),
    };
  },
};

/** Records as a table, with a link to each, which keeps the filter for the links between them. */
function recordsTable(
  visit: ConsoleRequest,
  records: readonly Diagnosis[],
  figures: ReadonlyMap<string, RecordFigures>,
  hasDeployments: boolean,
): Html {
  const { cursor: _, ...query } = queryOf(visit);
  const figuresOf = ({ id }: Diagnosis) => figures.get(id);
  const pieces = new Map(records.map((record) => [record.id, piecesOf(record)]));
  return (
    <Table
      caption="Records"
      rows={records}
      isDense
      columns={[
        {
          label: "Time",
          isHead: true,
          cell: ({ id, createdAt }) => <a href={link(visit, ["records", id], query)}>{ago(createdAt, visit.now)}</a>,
        },
        hasDeployments && {
          label: "Deployment",
          isEvident: true,
          cell: ({ reference, deployId }) => isolated(reference ?? deployId),
        },
        { label: "Version", isEvident: true, cell: ({ promptVersion }) => `v${promptVersion}` },
        { label: "Status", isEvident: true, cell: (record) => statusChip(visit, valuesOf(record).status) },
        { label: "Session", isEvident: true, cell: (record) => sessionLink(visit, record) },
        { label: "Input", isMain: true, isEvident: true, cell: (record) => excerptOf(record, "input") },
        { label: "Output", isMain: true, isEvident: true, cell: (record) => excerptOf(record, "output") },
        [...pieces.values()].some(({ length }) => length > 0) &&
        { label: "Feedback", cell: ({ id }) => textOfPieces(pieces.get(id)!) },
        { label: "Latency", isNumber: true, cell: (record) => duration(valuesOf(record).latency) },
        { label: "Tokens", isNumber: true, cell: (record) => tokensOf(figuresOf(record)) },
        { label: "Cost", isNumber: true, cell: (record) => usd(figuresOf(record)?.cost ?? null) },
      ]}
    />
  );
}

/** Input and output tokens together. */
function tokensOf(figures: RecordFigures | undefined): Part {
  if (!figures?.tokens) return dash;
  return number((figures.tokens.prompt ?? 0) + (figures.tokens.completion ?? 0));
}

const maxSession = 30, maxExcerpt = 60; // characters
const mostPieces = 10, maxPieces = 26; // pieces of feedback on a record, and their characters

function sessionLink(visit: ConsoleRequest, record: Diagnosis): Html {
  const { sessionId: id } = valuesOf(record);
  return <a href={link(visit, ["session"], { id })}>{excerpt(id, maxSession)}</a>;
}

function excerptOf(record: Diagnosis, name: PartName): Part {
  const text = lastText(record, name);
  return text === undefined ? dash : excerpt(text, maxExcerpt);
}

const textOfPieces = (pieces: readonly Feedback[]): Part =>
  pieces.length > 0 && excerpt(pieces.slice(0, mostPieces).map(pieceText).join(", "), maxPieces);

function noneFound(visit: ConsoleRequest, goesOn: boolean): Html {
  if (goesOn) {
    const words = "The search stopped after a part of the log. Go on with the older part.";
    return <Empty title="Nothing found so far">{words}</Empty>;
  }
  if (visit.query.size > 0) return <Empty title="No record matches">Widen the time, or take a filter away.</Empty>;
  return (
    <Empty title="No record yet">
      Applications send them with POST /v1/diagnosis, or with call.done() of the client.
    </Empty>
  );
}

/** The order that the page shows. An unknown one is refused with the filter. */
const orderIn = (visit: ConsoleRequest) => queryValue(visit, "order") === "oldest" ? "oldest" : "newest";

/** Request of the query. Throws if a value is not allowed. */
const requestIn = async (visit: ConsoleRequest) => ({
  ...await workspaceFilterIn(visit),
  order: queryWord(visit, "order", ["newest", "oldest"]),
});

const neighbourTime = 1_000; // ms that the search for the record on either side takes

/** Result of the search for a record's neighbour. The list in this order continues a search that ran out of time. */
export type Neighbour = SearchResult<Diagnosis> & { order: "newest" | "oldest" };

/** Searches for the records beside one, in the order and with the filter of the query. */
export async function findNeighbours(
  visit: ConsoleRequest,
  id: RecordId,
): Promise<{ previous: Neighbour; next: Neighbour }> {
  const { order = "newest", ...request } = await requestIn(visit);
  const find = async (order: Neighbour["order"], part: readonly [number, number]): Promise<Neighbour> => {
    const input = { ...request, order, after: id, limit: 1 };
    const list = (cursor: string | undefined) => visit.call(listWorkspaceDiagnoses, { ...input, cursor }, part);
    return { ...await findFirst(list, after(neighbourTime)), order };
  };
  const [next, previous] = await Promise.all([
    find(order, [0, 0.5]),
    find(order === "newest" ? "oldest" : "newest", [0.5, 1]),
  ]);
  return { previous, next };
}

export const recordsExport: Resource = {
  path: "/:workspaceId/records/export",
  async answer(visit) {
    const request = await requestIn(visit), format = queryWord(visit, "format", exportFormats);
    return visit.download(await visit.call(exportWorkspaceDiagnoses, { ...request, format }));
  },
};
