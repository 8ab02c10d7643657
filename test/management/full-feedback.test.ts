// Feedback that is as much and as long as it may be, and as it might be before records had bounds: what is read of it at once is
// bounded, statistics count it as any other, and other workspaces notice nothing.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database, Row } from "../../src/database/database.ts";
import { recordLimits } from "../../src/feedback/feedback-state.ts";
import { checkAlerts } from "../../src/management/events/alert-checks.ts";
import type { Alert } from "../../src/management/events/alerts.ts";
import { compareStats } from "../../src/management/records/compare.ts";
import { readFeedbackAgreement } from "../../src/management/feedback/feedback-agreement.ts";
import { createReview } from "../../src/management/feedback/reviews.ts";
import { checkGuards } from "../../src/management/upkeep/rollout-checks.ts";
import { readRolloutStats } from "../../src/management/records/rollout-stats.ts";
import { listSessions } from "../../src/management/records/sessions.ts";
import type { Session } from "../../src/management/records/sessions.ts";
import { readStats, readWorkspaceStats } from "../../src/management/records/stats.ts";
import type { Stats } from "../../src/management/records/stats.ts";
import type { FeedbackStats } from "../../src/schema/feedback.ts";
import { call, verify } from "../actions.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { Tenant, World } from "../helpers.ts";
import { longest, storeFeedback } from "../stored-feedback.ts";
import type { StoredPiece } from "../stored-feedback.ts";
import { publish, readAll, taken, toQuery } from "./management.ts";

const test = suite("full feedback");

const minute = 60_000, hour = 60 * minute; // ms
const names = 50;
const numeric = longest.name(names - 1);

/** As much feedback as a record may have, or might have, as long as may be. All labels differ, and one name has numbers. */
const fullRecord = (pieces: number, first = 0): StoredPiece[] =>
  Array.from({ length: pieces }, (_, nth) => ({
    name: longest.name(nth % names),
    author: longest.author(Math.floor(nth / names)),
    value: nth % names === names - 1 ? nth : longest.label(first + nth),
    comment: "c".repeat(1_000),
  }));

/** The same database, and what is read of it. */
function recording(database: Database) {
  const read: Row[][] = [];
  return {
    read,
    database: {
      ...database,
      read: async (statement: Parameters<Database["read"]>[0]) => {
        const rows = await database.read(statement);
        read.push(rows);
        return rows;
      },
    },
  };
}

const largest = (read: Row[][]): number => Math.max(...read.map((rows) => JSON.stringify(rows).length));

/** Submits a record, and returns its position. */
async function submit(world: World, body: object = {}, { deployId, key }: Tenant = world): Promise<number> {
  taken(await world.submit({ ...goodBody, ...body }, deployId, key), 201);
  const [row] = await world.database.read({ sql: "select max(position) as position from diagnoses" });
  return Number(row!.position);
}

const createAlert = async ({ manage, workspaceId }: World, condition: string, atLeast?: number) =>
  taken<Alert>(await manage("POST", `/workspaces/${workspaceId}/alerts`, { condition, atLeast }), 201);

/** Two workspaces whose records alternate in the log. The first has a rollout with a guard, and alerts. */
async function createWorkspaces() {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const other = await createTenant(world.admin, 1e6, "Other");
  taken(await publish(world, { name: "greeting", title: "Warmer", messages: [{ role: "user", content: "x" }] }), 201);
  const guard = `${numeric}=-0.5,failures=+90%`;
  const { rollout } = taken<{ rollout: { id: string } }>(
    await world.manage("POST", `/deployments/${world.deployId}/rollout`, { version: 2, percent: 50, guard }),
  );
  await createAlert(world, "records>10");
  await createAlert(world, `feedback.${numeric}>1`, 1);
  const own: number[] = [], theirs: number[] = [];
  for (let nth = 0; nth < 40; nth++) {
    const ofRollout = nth % 4 === 0 ? {} : { rollout: rollout.id, promptVersion: 1 + nth % 2 };
    own.push(await submit(world, { sessionId: `s${nth % 8}`, ...ofRollout }));
    theirs.push(await submit(world, { sessionId: `s${nth % 8}` }, other));
  }
  const few = Array.from({ length: 10 }, (_, nth) => ({ name: longest.name(nth), author: "", value: nth % 3 }));
  await storeFeedback(world.database, other.workspaceId, theirs.slice(0, 1), few);
  return { world, other, rollout: rollout.id, own, theirs };
}

/** Whatever reads much feedback of a workspace. Returns what people get, and all that was read for it. */
async function lookAt({ admin, database }: World, { workspaceId, deployId }: Tenant) {
  const recorded = recording(database), session = { ...admin, database: recorded.database };
  const authors = [longest.author(0), longest.author(1)].join();
  const answers = [
    await call(readStats, session, { deployId, interval: "day" }),
    await call(readWorkspaceStats, session, { workspaceId, interval: "hour", splitAt: admin.clock() - 1 }),
    await call(compareStats, session, { a: deployId, b: deployId, bVersion: 1 }),
    await call(listSessions, session, { workspaceId }),
    await call(readFeedbackAgreement, session, { workspaceId, name: longest.name(0), authors }),
  ];
  return { answers, read: recorded.read };
}

const maxRead = 2_000_000; // characters. A libSQL server returns at most 10 MB
const maxAnswer = 8_000_000;

test("one answer of the database is bounded, whatever is looked at in a workspace whose feedback is full", async () => {
  const { world, rollout, own } = await createWorkspaces();
  const { workspaceId, deployId } = world;
  const old = own.slice(0, 4), full = own.slice(4);
  for (const position of old) {
    await storeFeedback(world.database, workspaceId, [position], fullRecord(1_000, position), 2);
  }
  await storeFeedback(world.database, workspaceId, full, fullRecord(recordLimits.pieces));
  const { answers, read } = await lookAt(world, world);
  const session = { ...world.admin, ...recording(world.database) };
  const ofRollout = await call(readRolloutStats, session, { id: deployId, rollout: rollout as `ro_${string}` });
  const feedback = `${longest.name(0)}=${longest.label(0)}\n${numeric}>=49`;
  const review = await call(createReview, session, { workspaceId, title: "All", feedback, withoutOwn: true });
  assert.is(review.records, full.length);
  world.now += minute;
  assert.equal(await checkAlerts(session), { checked: 2, fired: 2, resolved: 0 });
  assert.equal(await checkGuards(session), { checked: 1, stopped: 0 });
  const { feedback: check } = await verify(session);
  const pieces = 1_000 * old.length + recordLimits.pieces * full.length;
  assert.equal(check, { pieces: pieces + 10, earlier: 1_000 * old.length, waiting: 0, faults: 0, rows: [] });
  assert.ok(largest([...read, ...session.read]) < maxRead, `${largest([...read, ...session.read])} characters`);
  assert.ok([...answers, ofRollout].every((answer) => JSON.stringify(answer).length < maxAnswer));
  // The numbers are those of a recount.
  const [stats] = answers as [Stats];
  assert.is(stats.all.feedback.length, names);
  assert.is(stats.all.feedback.reduce((sum, each) => sum + each.pieces, 0), pieces);
  assert.ok(stats.all.feedback.every(({ records }) => records === own.length));
  const [first] = stats.all.feedback;
  assert.equal(first!.labels[0], { ...first!.labels[0], label: longest.label(0), pieces: full.length });
  await world.close();
});

test("nothing of another workspace's feedback enters what is read of a workspace", async () => {
  const { world, other, own } = await createWorkspaces();
  const before = await lookAt(world, other);
  await storeFeedback(world.database, world.workspaceId, own, fullRecord(1_000));
  const after = await lookAt(world, other);
  assert.equal(after, before);
  assert.is((after.answers[0] as Stats).all.feedback.length, 10);
  await world.close();
});

test("alerts and guards of records hold whatever is the matter with feedback", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  taken(await publish(world, { name: "greeting", title: "Warmer", messages: [{ role: "user", content: "x" }] }), 201);
  const { rollout: { id } } = taken<{ rollout: { id: string } }>(
    await world.manage("POST", `/deployments/${world.deployId}/rollout`, {
      ...{ version: 2, percent: 50, guard: "failures=+2%" },
    }),
  );
  for (const condition of ["records>10", "failures>5%", "feedback.thumb<50%"]) {
    await createAlert(world, condition, condition.startsWith("records") ? undefined : 1);
  }
  for (let nth = 0; nth < 200; nth++) {
    await submit(world, { rollout: id, promptVersion: 1 + nth % 2, status: nth % 2 === 1 ? 0 : 1 });
  }
  const thumb = [{ name: "thumb", author: "", value: 1 }];
  await storeFeedback(world.database, world.workspaceId, [await submit(world)], thumb);
  await world.database.write([{ sql: "drop table feedback_counts" }]);
  world.now += minute;
  const { error, ...run } = await checkAlerts(world.admin);
  assert.equal(run, { checked: 2, fired: 2, resolved: 0 });
  assert.match(String(error), "feedback_counts");
  assert.equal(await checkGuards(world.admin), { checked: 1, stopped: 1 });
  await world.close();
});

/** A workspace with a record each hour in a session of its own, all with the same feedback. */
async function createHours(hours: number, pieces: StoredPiece[]): Promise<World> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const positions: number[] = [];
  for (let nth = 0; nth < hours; nth++, world.now += hour) {
    positions.push(await submit(world, { sessionId: `s${nth}` }));
  }
  await storeFeedback(world.database, world.workspaceId, positions, pieces);
  return world;
}

const thousandNames = Array.from({ length: 1_000 }, (_, nth) => ({ name: `name-${nth}`, author: "", value: nth }));

const statsBy = async (world: World, interval?: string) =>
  taken<Stats>(await world.manage("GET", `/deployments/${world.deployId}/stats${toQuery({ interval })}`));

const counted = (feedback: FeedbackStats[]) => feedback.map(({ name, pieces, mean }) => [name, pieces, mean]);

test("where there are too many names for all parts of the time, feedback is counted over all, and says so", async () => {
  const world = await createHours(60, thousandNames);
  const expected = thousandNames.map(({ name, value }) => [name, 60, value]).sort(([a], [b]) => a! < b! ? -1 : 1);
  const byHour = await statsBy(world, "hour"), whole = await statsBy(world);
  assert.equal([byHour.isFeedbackLeftOut, whole.isFeedbackLeftOut], [true, false]);
  assert.equal(counted(byHour.all.feedback), expected);
  assert.ok(byHour.series.every(({ feedback, records }) => feedback.length === 0 && records === 1));
  assert.equal(counted(whole.versions[0]!.feedback), expected);
  const page = await world.manage("GET", `/workspaces/${world.workspaceId}/stats?interval=hour&splitAt=${world.now}`);
  assert.is(taken<{ isFeedbackLeftOut: boolean }>(page).isFeedbackLeftOut, true);
  await world.close();
});

test("a page of sessions has as many as there is room for their feedback, and the next pages have the others", async () => {
  const world = await createHours(60, thousandNames);
  const path = `/workspaces/${world.workspaceId}/sessions`;
  const { items } = taken<{ items: Session[] }>(await world.manage("GET", path));
  assert.ok(items.length > 0 && items.length < 60, `${items.length} sessions`);
  const all = await readAll<Session>(world, path);
  assert.equal(all.map(({ sessionId }) => sessionId), Array.from({ length: 60 }, (_, nth) => `s${59 - nth}`));
  assert.ok(all.every(({ feedback }) => feedback.length === 1_000));
  await world.close();
});

test("the labels of an answer are bounded in their length, those over all come first, and others are counted", async () => {
  const pieces = Array.from({ length: 1_000 }, (_, nth) => ({
    ...{ name: `name-${nth % names}`, author: `${nth}`, value: longest.label(nth) },
  }));
  const world = await createHours(30, pieces);
  const { all, versions, series } = await statsBy(world, "hour");
  assert.ok(all.feedback.every(({ labels, otherLabels }) => labels.length === 10 && otherLabels === 30 * 10));
  const parts = [...versions, ...series];
  const shown = parts.flatMap(({ feedback }) => feedback.map(({ labels }) => labels.length));
  assert.equal([Math.max(...shown), Math.min(...shown)], [10, 0]);
  for (const { feedback } of parts) {
    for (const { labels, otherLabels, pieces } of feedback) {
      assert.is(labels.reduce((sum, label) => sum + label.pieces, otherLabels), pieces);
    }
  }
  assert.ok(JSON.stringify(series).length < maxAnswer);
  await world.close();
});

test("with more labels than are counted separately, the frequent ones are right", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const position = await submit(world), count = 60;
  const more: number[] = [];
  for (let nth = 0; nth < count; nth++) more.push(await submit(world));
  for (const [nth, each] of more.entries()) {
    const pieces = Array.from({ length: 100 }, (_, at) => ({
      ...{
        name: "tone",
        author: `${at}`,
        value: at === 0 ? "usual" : at === 1 && nth % 2 === 0 ? "half" : `${nth} ${at}`,
      },
    }));
    await storeFeedback(world.database, world.workspaceId, [each], pieces);
  }
  await storeFeedback(world.database, world.workspaceId, [position], [{ name: "tone", author: "", value: "usual" }]);
  const [tone] = (await statsBy(world)).all.feedback;
  assert.equal(tone!.labels.slice(0, 2).map(({ label, pieces }) => [label, pieces]), [["usual", 61], ["half", 30]]);
  assert.equal([tone!.labels.length, tone!.pieces, tone!.records], [10, 6_001, 61]);
  await world.close();
});

test.run();
