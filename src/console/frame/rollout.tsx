// A rollout in words, and its two arms beside each other. Neither is called better: the reader decides if more is.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Deployment } from "../../management/deployments/deployments.ts";
import { amountText, measureName } from "../../management/terms/rollout-sentences.ts";
import type { RolloutStats } from "../../management/records/rollout-stats.ts";
import type { Stats } from "../../management/records/stats.ts";
import type { Rollout } from "../../management/terms/rollouts.ts";
import { ago, counted, dash, duration, number, numberText, rounded, share, usd } from "./format.tsx";
import { Fragment, h, isolated } from "./html.ts";
import type { Html, Part } from "./html.ts";
import { link } from "./page.ts";
import type { ConsoleRequest } from "./page.ts";
import type { Panel } from "./chart.tsx";
import { Notice, Table } from "./elements.tsx";

/** Candidate and its share: `v8 to 10 %`. */
export const shareText = ({ version, percent }: Pick<Rollout, "version" | "percent">): string =>
  `v${version} to ${percent} %`;

/** Guard: `, guarded by failures=+2% at 99 %`. Empty without one. */
export const guardText = ({ guard, certain }: Pick<Rollout, "guard" | "certain">): string =>
  guard === null ? "" : `, guarded by ${guard} at ${certain} %`;

/** The rollout of a deployment that is in progress, with a link to it; false without one. */
export const rolloutChip = (visit: ConsoleRequest, { id, rollout }: Deployment): Part =>
  rollout !== null && <a class="chip" href={link(visit, ["deployments", id, "rollout"])}>{shareText(rollout)}</a>;

/** Notice that promoting a version, or taking the deployment away, ends a rollout. */
export function endingOf({ rollout }: Deployment, promoted?: number): Part {
  if (rollout === null) return undefined;
  return (
    <Notice kind="info">
      A rollout is in progress: {shareText(rollout)}. This {promoted === rollout.version ? "completes" : "ends"} it.
    </Notice>
  );
}

const outcomes: Record<NonNullable<Rollout["outcome"]>, string> = {
  promoted: "completed: the candidate was promoted",
  replaced: "ended: another version was promoted",
  rolled_back: "ended by a rollback",
  stopped: "stopped",
  guard: "stopped by its guard",
  deactivated: "ended: the deployment was switched off",
  archived: "ended: the deployment was archived",
};

/** Rollout outcome. */
export const outcomeText = ({ outcome }: Rollout): string => outcome === null ? "in progress" : outcomes[outcome];

/** The rollouts of a deployment, each with a link to its numbers. */
export const rolloutsTable = (visit: ConsoleRequest, rollouts: readonly Rollout[]): Html => (
  <Table
    caption="Rollouts"
    rows={rollouts}
    columns={[
      {
        label: "Rollout",
        isHead: true,
        cell: ({ id, deployId, baseVersion, ...rollout }) => (
          <a href={link(visit, ["deployments", deployId, "rollout"], { rollout: id })}>
            {shareText(rollout)}, v{baseVersion} to the others
          </a>
        ),
      },
      { label: "Started", cell: ({ startedAt }) => ago(startedAt, visit.now) },
      { label: "Outcome", cell: outcomeText },
      { label: "Ended", cell: ({ endedAt }) => ago(endedAt, visit.now) },
      { label: "Who", cell: ({ startedBy }) => startedBy === "" ? dash : isolated(startedBy) },
      { label: "Why", isMain: true, cell: ({ note }) => note === "" ? dash : isolated(note) },
    ]}
  />
);

type Difference = RolloutStats["differences"][number];

/** Both arms: their numbers of records, and each difference. */
export function armsView(visit: ConsoleRequest, { rollout, base, candidate, ...compared }: RolloutStats): Html {
  const { differences, sampleRatio, sentence } = compared;
  const recordsOf = ({ version, records }: RolloutStats["base"]): Html => (
    <a href={link(visit, ["records"], { rollout: rollout.id, version })}>{counted(records, "record")}</a>
  );
  return (
    <>
      <Notice kind="info">{sentence}.</Notice>
      <p>
        Base v{base.version}: {recordsOf(base)}. Candidate v{candidate.version}: {recordsOf(candidate)}.{" "}
        {sampleRatio.sentence}.
      </p>
      <Table
        caption="Both versions"
        rows={differences}
        columns={[
          { label: "Figure", isHead: true, cell: (found) => isolated(measureName(found)) },
          { label: `Base v${base.version}`, isNumber: true, cell: (found) => valueOf(found, base) },
          { label: `Candidate v${candidate.version}`, isNumber: true, cell: (found) => valueOf(found, candidate) },
          { label: "Difference", isNumber: true, cell: rangesOf },
          {
            label: "Records needed",
            isNumber: true,
            cell: ({ needed }) => needed === null ? dash : number(needed),
          },
          { label: "What it says", isMain: true, cell: ({ sentence }) => `${sentence}.` },
        ]}
      />
      <p class="hint">
        A difference is the candidate beside the base, with ranges at 95 %. The one at any time holds however often
        someone looks. The one for one look holds if its time was chosen beforehand. About as many records more are
        needed until half of such rollouts show the difference that is to be told.
      </p>
    </>
  );
}

/** A difference with the range that holds at any time, and the one that holds for one look. */
function rangesOf({ difference, unit, sequence, interval }: Difference): Part {
  if (difference === null) return dash;
  const range = (words: string, ends: Difference["interval"]) =>
    ends !== null && <p class="hint">{words}: {amountText(ends.low, unit)} to {amountText(ends.high, unit)}</p>;
  return (
    <>
      <data value={difference}>{amountText(difference, unit)}</data>
      {range("at any time", sequence)}
      {range("one look", interval)}
    </>
  );
}

/** Value of a measure in an arm. */
function valueOf({ measure, name, label }: Difference, arm: RolloutStats["base"]): Part {
  const { failures, latency, tokens, cost } = arm;
  const shareOf = (part: number | null | undefined) => part === null || part === undefined ? dash : share(part);
  switch (measure) {
    case "failures":
      return shareOf(failures?.share);
    case "latency":
      return duration(latency.mean);
    case "p95":
      return duration(latency.p95);
    case "tokens":
      return tokens.mean === null ? dash : rounded(tokens.mean);
    case "cost":
      return usd(cost.mean);
    case "feedback": {
      const found = arm.feedback.find((stats) => stats.name === name);
      if (label !== null) return shareOf(found?.labels.find((each) => each.label === label)?.share);
      return typeof found?.mean === "number" ? rounded(found.mean) : shareOf(found?.share);
    }
  }
}

type Point = Stats["series"][number];

/** The panel of a chart with the records of both versions of a rollout. Empty without records of the candidate. */
export function armsPanels(
  { series }: Stats,
  rollout: Rollout | undefined,
  points: readonly (Point | undefined)[],
): Panel[] {
  const countOf = (point: Point | undefined, version: number) =>
    point?.versions.find((each) => each.version === version)?.records ?? 0;
  if (rollout === undefined || !series.some((point) => countOf(point, rollout.version) > 0)) return [];
  const arms = [["Base", rollout.baseVersion], ["Candidate", rollout.version]] as const;
  const say = (counted: readonly Point[]) =>
    arms.map(([, version]) =>
      `${numberText(counted.reduce((sum, point) => sum + countOf(point, version), 0))} of v${version}`
    ).join(", ");
  return [{
    title: "Versions",
    unit: "records",
    kind: "bars",
    series: arms.map(([name, version]) => ({
      name: `${name} v${version}`,
      values: points.map((point) => point === undefined ? null : countOf(point, version)),
    })),
    total: say(series),
    readouts: points.map((point) => point === undefined ? "" : say([point])),
  }];
}

/** The shares over time, each with its records. */
export const stepsTable = (visit: ConsoleRequest, { steps }: RolloutStats): Html => (
  <Table
    caption="Shares over time"
    rows={steps}
    columns={[
      { label: "Share", isHead: true, cell: ({ percent }) => `${numberText(percent)} %` },
      { label: "From", cell: ({ at }) => ago(at, visit.now) },
      { label: "Records of the base", isNumber: true, cell: ({ base }) => number(base) },
      { label: "Records of the candidate", isNumber: true, cell: ({ candidate }) => number(candidate) },
    ]}
  />
);
