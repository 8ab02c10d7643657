// Operations that read much of the log report their progress.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { compareStats } from "../../src/management/records/compare.ts";
import type { Session } from "../../src/management/kernel/operation.ts";
import { listDiagnoses } from "../../src/management/records/records.ts";
import { listSessions, showSession } from "../../src/management/records/sessions.ts";
import { readStats } from "../../src/management/records/stats.ts";
import { readUsage } from "../../src/management/records/usage.ts";
import { call, createDeployment } from "../actions.ts";
import { createWorld } from "../helpers.ts";
import { moveCommits } from "./filled-log.ts";

const test = suite("progress");

const world = await createWorld();
test.after(() => world.close());
const { workspaceId, deployId } = world;
const other = await createDeployment(world.admin, workspaceId, { name: "other", promptId: world.promptId });
for (let nth = 0; nth < 3; nth++) await world.submit();
// Three records, each far from the one before.
await moveCommits(world, (position, index) => position + 10_000 * index);

type Report = { progress: string; share: number | undefined };

/** The reports of some work. */
async function reportsOf(run: (session: Session) => Promise<unknown>): Promise<Report[]> {
  const reports: Report[] = [];
  await run({ ...world.admin, report: (progress, share) => void reports.push({ progress, share }) });
  return reports;
}

/** The texts of the reports, without their percentages. */
const wordsOf = (reports: Report[]) => [...new Set(reports.map(({ progress }) => progress.replace(/\d+ %/, "n %")))];

const works: Record<string, { words: string[]; run(session: Session): Promise<unknown> }> = {
  statistics: { words: ["Read n %"], run: (session) => call(readStats, session, { deployId }) },
  "a comparison of versions": {
    words: ["Read n %"],
    run: (session) => call(compareStats, session, { a: deployId, aVersion: 1, b: deployId, bVersion: 2 }),
  },
  "a comparison of deployments": {
    words: ["Read n % of the first", "Read n % of the second"],
    run: (session) => call(compareStats, session, { a: deployId, b: other.id }),
  },
  "a search of records": {
    words: ["Read n %"],
    run: (session) => call(listDiagnoses, session, { deployId, text: "no such text" }),
  },
  "a list of sessions": {
    words: ["Sessions found: 1", "Read n %"],
    run: (session) => call(listSessions, session, { workspaceId }),
  },
  "the records of a session": {
    words: ["Read n %"],
    run: (session) => call(showSession, session, { workspaceId, sessionId: "session-1" }),
  },
  "the usage of a month": {
    words: ["Counted n %"],
    run: (session) => call(readUsage, session, { workspaceId, month: "2026-11" }),
  },
};

for (const [name, { words, run }] of Object.entries(works)) {
  test(`${name} reports a growing share, up to the whole`, async () => {
    const reports = await reportsOf(run);
    assert.equal(wordsOf(reports), words);
    const shares = reports.flatMap(({ share }) => share === undefined ? [] : [share]);
    assert.ok(shares.length > 1 && shares.at(-1) === 1, shares.join());
    for (const { progress, share } of reports) {
      if (share !== undefined) assert.match(progress, `${Math.round(100 * share)} %`);
    }
    // In a comparison the share grows for each side.
    const falls = shares.filter((share, nth) => nth > 0 && share < shares[nth - 1]!).length;
    assert.is(falls, words.filter((word) => word.includes("second")).length);
  });
}

test.run();
