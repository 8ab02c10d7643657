// Health of a workspace's deployments: the records of the last days, beside those of the days before.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { newcombe } from "../statistics/intervals.ts";
import type { Deployment } from "../management/deployments/deployments.ts";
import type { WorkspaceStats } from "../management/records/stats.ts";
import type { Diagnosis, Figures } from "../schema/ledger.ts";
import { lastText, valuesOf } from "./frame/conversation.ts";
import { ago, dash, duration, excerpt, number, numberText, share, usd } from "./frame/format.tsx";
import { breakable, Fragment, h } from "./frame/html.ts";
import type { Html, Part } from "./frame/html.ts";
import { link } from "./frame/page.ts";
import type { ConsoleRequest } from "./frame/page.ts";
import { Spark } from "./frame/chart.tsx";
import { Chip, stateOf, statusChip } from "./frame/chips.tsx";
import { rolloutChip } from "./frame/rollout.tsx";
import { Table } from "./frame/elements.tsx";
import type { Column } from "./frame/elements.tsx";

const day = 86_400_000; // ms
const days = 7;

/** Length of the recent period, and of the one it is compared with, in ms. */
export const span = days * day;

const mostShown = 10;

type Split = { before: Figures; after: Figures };

/** A deployment, or all of them together. Without a split it has no records. */
type Row = { deployment?: Deployment; series: WorkspaceStats["series"]; split: Split | null };

/** A row for each live deployment with its numbers: first those that got worse, then those with the most records. */
export function healthTable(visit: ConsoleRequest, stats: WorkspaceStats, deployments: readonly Deployment[]): Html {
  const known = new Map(stats.deployments.map((each) => [each.deployId, each]));
  const live = deployments.filter((deployment) => stateOf(deployment) === undefined).map((deployment): Row => {
    const { series = [], split = null } = known.get(deployment.id) ?? {};
    return { deployment, series, split };
  });
  const ordered = live.sort((a, b) =>
    Number(b.split !== null && worseIn(b.split) !== undefined) -
      Number(a.split !== null && worseIn(a.split) !== undefined) ||
    recordsOf(b) - recordsOf(a) || (a.deployment!.reference < b.deployment!.reference ? -1 : 1)
  );
  const rows = ordered.slice(0, mostShown);
  if (live.length > 1) rows.unshift({ series: stats.series, split: stats.split });
  const query = (row: Row, filter = {}) => ({ deployment: row.deployment?.id, last: `${days}d`, ...filter });
  const failed = { failures: "yes" };
  const records = (row: Row, filter = {}) => link(visit, ["records"], query(row, filter));
  return (
    <div class="health">
      <Table
        caption="Deployments"
        rows={rows}
        columns={[
          { label: "Deployment", isHead: true, cell: (row) => nameOf(visit, row) },
          { label: "By day", cell: (row) => sparkOf(visit, row) },
          figure(
            "Records",
            ({ records }) => records,
            (count, row) => <a href={records(row)}>{number(count)}</a>,
            (count) => number(count),
          ),
          figure("Failed", failureShare, (part, row) => <a href={records(row, failed)}>{share(part)}</a>, share),
          figure("p95", ({ latency }) => latency.p95, duration),
          figure("Cost", costOf, usd),
        ]}
      />
      {live.length > mostShown && (
        <p class="hint">
          <a href={link(visit, ["deployments"])}>{numberText(live.length - mostShown)} more</a>{" "}
          are live. Those that got worse are shown first, then those with the most records.
        </p>
      )}
      {unpricedIn(stats) > 0 && (
        <p class="hint">
          {number(unpricedIn(stats))} of the records have no cost, as they lack tokens, a model or a{" "}
          <a href={link(visit, ["prices"])}>price</a>.
        </p>
      )}
      {stats.all.failures === null && (
        <p class="hint">
          No status counts as a failure. Name those that do in the <a href={link(visit, ["settings"])}>settings</a>.
        </p>
      )}
    </div>
  );
}

const recordsOf = ({ split }: Row): number => split === null ? 0 : split.before.records + split.after.records;
const unpricedIn = ({ split }: WorkspaceStats): number => split?.after.cost.unpriced ?? 0;
const failureShare = ({ records, failures }: Figures) => failures === null || records === 0 ? null : failures / records;
const costOf = ({ records, cost }: Figures) => cost.unpriced === records ? null : cost.total;

/** Deterioration that chance alone is unlikely to explain. */
function worseIn({ before, after }: Split): string | undefined {
  if (before.records > 0 && after.records === 0) return "No records any more";
  if (!(before.records > 0 && after.records > 0)) return undefined;
  const [a, b] = [before, after].map(({ failures, records }) => ({ count: failures ?? 0, total: records }));
  return newcombe(a!, b!).low > 0 ? "Fails more" : undefined;
}

function nameOf(visit: ConsoleRequest, { deployment, split }: Row): Part {
  if (deployment === undefined) return "All deployments";
  const worse = split === null ? undefined : worseIn(split);
  return (
    <>
      <a href={link(visit, ["deployments", deployment.id])}>{breakable(deployment.reference)}</a>{" "}
      <b>v{deployment.currentVersion}</b>
      {deployment.rollout !== null && [" ", rolloutChip(visit, deployment)]}
      {worse !== undefined && [" ", <Chip kind="bad">{worse}</Chip>]}
    </>
  );
}

/** A bar for each day of both spans. */
function sparkOf(visit: ConsoleRequest, { deployment, series }: Row): Part {
  if (series.length === 0) return dash;
  const today = Math.floor(visit.now / day) * day;
  const known = new Map(series.map((point) => [point.at, point]));
  const points = Array.from({ length: 2 * days }, (_, index) => known.get(today + (index + 1 - 2 * days) * day));
  const values = points.map((point) => point?.records ?? 0), bad = points.map((point) => point?.failures ?? 0);
  const text = `Records of the last ${2 * days} days: ${values.map(numberText).join(", ")}`;
  const spark = <Spark values={values} bad={bad} text={text} />;
  return deployment === undefined ? spark : <a href={link(visit, ["deployments", deployment.id, "stats"])}>{spark}</a>;
}

/** A column with a value, and below it the one of the span before. */
const figure = <T,>(
  label: string,
  read: (figures: Figures) => T | null,
  show: (value: T, row: Row) => Part,
  showBefore: (value: T, row: Row) => Part = show,
): Column<Row> => ({
  label,
  isNumber: true,
  cell(row) {
    if (row.split === null) return dash;
    const before = read(row.split.before), after = read(row.split.after);
    return (
      <>
        {after === null ? dash : show(after, row)}
        {before !== null && <p class="hint">was {showBefore(before, row)}</p>}
      </>
    );
  },
});

/** Start of the newest failures, from the series: a search from there finds them soon. Undefined without any. */
export function newestFailuresFrom({ series }: WorkspaceStats, now: number, count: number): number | undefined {
  let found = 0, from: number | undefined;
  for (const { at, failures } of series.toReversed()) {
    if (found >= count) break;
    if (!failures) continue;
    found += failures;
    from = Math.max(at, now - 2 * span);
  }
  return from;
}

/** Failed records, each with what it answered. */
export const failuresTable = (
  visit: ConsoleRequest,
  records: readonly Diagnosis[],
  names: ReadonlyMap<string, string>,
): Html => (
  <Table
    caption="Newest failures"
    rows={records}
    columns={[
      {
        label: "When",
        isHead: true,
        cell: ({ id, createdAt }) => <a href={link(visit, ["records", id])}>{ago(createdAt, visit.now)}</a>,
      },
      {
        label: "Deployment",
        cell: ({ deployId, promptVersion }) => <>{breakable(names.get(deployId) ?? deployId)} v{promptVersion}</>,
      },
      { label: "Status", cell: (record) => statusChip(visit, valuesOf(record).status) },
      {
        label: "Output",
        isMain: true,
        cell: (record) => {
          const output = lastText(record, "output"), input = lastText(record, "input");
          if (output) return excerpt(output, mostOfText);
          return input ? <span class="none">Input: {excerpt(input, mostOfText)}</span> : dash;
        },
      },
    ]}
  />
);

const mostOfText = 110; // characters
