// The records of a deployment with filters, and their export.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { invalid } from "../../common/errors.ts";
import type { DeploymentId } from "../../common/ids.ts";
import { exportFormats } from "../../management/export.ts";
import { exportDiagnoses, listDiagnoses } from "../../management/records.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { dash, duration, excerpt, time } from "../format.tsx";
import { Fragment, h } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { asked, askedWord, link, workspaceOf } from "../page.ts";
import type { Page, Resource, Visit } from "../page.ts";
import { statusChip } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { Filters, Select } from "../parts/form.tsx";
import { Heading } from "../parts/heading.tsx";
import { Pager, Table } from "../parts/table.tsx";
import { textOf, valuesOf } from "../record-values.ts";
import type { PartName } from "../record-values.ts";
import { lastMessage } from "../conversation.ts";
import { DeploymentField, findDeployment, findOffered, findWith, mainOf } from "./inputs.tsx";
import { FilterFields, filterIn, filterNotice, findKeys, queryOf } from "./record-filter.tsx";

const pageSize = 25;
const orders = [["", "Newest first"], ["oldest", "Oldest first"]] as const;

export const recordsPage: Page = {
  path: "/:workspaceId/records",
  section: "records",
  async show(visit) {
    const offered = await findOffered(visit, true), asking = asked(visit, "deployment");
    const chosen = asking === undefined ? undefined : await findDeployment(visit, asking);
    const deployment = chosen ?? mainOf(offered.deployments);
    if (deployment === undefined) {
      return {
        title: "Records",
        body: (
          <>
            <Heading title="Records" />
            <Empty title="No record yet">
              Applications send records to a deployment, and there is none yet.
            </Empty>
          </>
        ),
      };
    }
    const [{ found, refusal }, keys] = await Promise.all([
      findWith(async () => {
        if (asking !== undefined && chosen === undefined) {
          throw invalid(`There is no deployment ${asking} in this workspace`);
        }
        const cursor = asked(visit, "cursor");
        return await visit.call(listDiagnoses, { ...inDeployment(visit, deployment.id), limit: pageSize, cursor });
      }),
      findKeys(visit),
    ]);
    const { items = [], nextCursor = null } = found ?? {};
    const query = queryOf(visit);
    const isFiltered = [...visit.query.keys()].some((name) => name !== "deployment");
    const exported = (format: string) =>
      link(visit, ["records", "export"], { ...query, deployment: deployment.id, cursor: "", format });
    return {
      title: `Records of ${deployment.reference}`,
      isWide: true,
      ...refusal && { kind: refusal.kind },
      body: (
        <>
          <Heading
            title="Records"
            lede={`What applications submitted, ${orderIn(visit)} first.`}
            actions={items.length > 0 && (
              <>
                <a class="button" href={link(visit, ["deployments", deployment.id, "stats"])}>Statistics</a>
                <a class="button" href={exported("ndjson")} download>Export JSON</a>
                <a class="button" href={exported("csv")} download>Export CSV</a>
              </>
            )}
          />
          <Filters clear={isFiltered ? link(visit, ["records"], { deployment: deployment.id }) : undefined}>
            <DeploymentField label="Deployment" name="deployment" value={deployment} offered={offered} />
            <FilterFields visit={visit} keys={keys}>
              <Select label="Order" name="order" value={asked(visit, "order")} options={orders} />
            </FilterFields>
          </Filters>
          {refusal !== undefined
            ? filterNotice(refusal)
            : items.length > 0
            ? recordsTable(visit, items)
            : noneFound(visit, nextCursor !== null)}
          <Pager
            next={nextCursor}
            href={(cursor) => link(visit, ["records"], { ...query, deployment: deployment.id, cursor })}
            label={orderIn(visit) === "oldest" ? "Newer" : "Older"}
          />
        </>
      ),
    };
  },
};

/** Records as a table, with a link to each. */
const recordsTable = (visit: Visit, records: readonly Diagnosis[]): Html => (
  <Table
    caption="Records"
    rows={records}
    columns={[
      {
        label: "When",
        isHead: true,
        cell: (record) => <a href={link(visit, ["records", record.id])}>{time(record.createdAt)}</a>,
      },
      { label: "Version", cell: ({ promptVersion }) => `v${promptVersion}` },
      { label: "Status", cell: (record) => statusChip(visit, valuesOf(record).status) },
      { label: "Latency", isNumber: true, cell: (record) => duration(valuesOf(record).latency) },
      { label: "Session", cell: (record) => sessionLink(visit, record) },
      { label: "Input", isMain: true, cell: (record) => excerptOf(record, "input") },
      { label: "Output", isMain: true, cell: (record) => excerptOf(record, "output") },
    ]}
  />
);

function sessionLink(visit: Visit, record: Diagnosis): Html {
  const { sessionId: id } = valuesOf(record);
  return <a href={link(visit, ["session"], { id })}>{excerpt(id, 40)}</a>;
}

/** The beginning of an input or output. Of a conversation it is the last message. */
function excerptOf(record: Diagnosis, name: PartName): Part {
  const text = textOf(record, name);
  return text === undefined ? dash : excerpt(lastMessage(text) ?? text);
}

function noneFound(visit: Visit, goesOn: boolean): Html {
  if (goesOn) {
    const words = "The search stopped after a part of the log. Go on with the older part.";
    return <Empty title="Nothing found so far">{words}</Empty>;
  }
  if (asked(visit, "deployment") !== undefined) {
    return <Empty title="No record matches">Widen the time, or take a filter away.</Empty>;
  }
  return (
    <Empty title="No record yet">
      Applications send them with POST /v1/diagnosis, or with call.done() of the client.
    </Empty>
  );
}

/** The order that the page shows. An unknown one is refused with the filter. */
const orderIn = (visit: Visit) => asked(visit, "order") === "oldest" ? "oldest" : "newest";

const inDeployment = (visit: Visit, deployId: DeploymentId) => ({
  deployId,
  workspaceId: workspaceOf(visit).id,
  order: askedWord(visit, "order", ["newest", "oldest"]),
  ...filterIn(visit),
});

export const recordsExport: Resource = {
  path: "/:workspaceId/records/export",
  section: "records",
  async answer(visit) {
    const filter = inDeployment(visit, (asked(visit, "deployment") ?? "") as DeploymentId);
    const format = askedWord(visit, "format", exportFormats);
    return visit.download(await visit.call(exportDiagnoses, { ...filter, format }));
  },
};
