// When a service makes backups, and what it says of them.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Backup } from "../../src/management/upkeep/backup-notices.ts";
import { createMetrics } from "../../src/common/metrics.ts";
import type { Log } from "../../src/common/log.ts";
import { invalid } from "../../src/common/errors.ts";
import { countedWith, nameOf } from "../../src/runtime/backups/backup-names.ts";
import type { Place } from "../../src/runtime/backups/backup-place.ts";
import { thin } from "../../src/runtime/backups/backup-thinning.ts";
import { dueAt, startBackups } from "../../src/runtime/backups/backup-schedule.ts";
import { until } from "../conformance/processes.ts";

const test = suite("scheduled backups");

const hour = 3_600_000, start = Date.parse("2026-11-23T10:00:00Z");

/** A schedule on a place in memory. Backups appear in it with the time of the clock. */
function stage(ages: number[], fault?: () => Error | undefined, removal?: () => Error | undefined, hasKey = false) {
  const backupOf = (createdAt: number): Backup => ({ name: nameOf(createdAt, false), createdAt, bytes: 7 });
  const backups = ages.map((age) => backupOf(start - age));
  const lines: string[] = [];
  const write = (message: string, fields = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const unused = () => {
    throw new Error("The schedule itself does not do that");
  };
  const place: Place = {
    name: "a place",
    list: () => Promise.resolve([...backups].sort((a, b) => b.createdAt - a.createdAt)),
    ...{ tidy: unused, put: unused, get: unused, readMark: unused, writeMark: unused },
    async remove(name) {
      const found = removal?.();
      if (found !== undefined) throw found;
      backups.splice(backups.findIndex((backup) => backup.name === name), 1);
      await Promise.resolve();
    },
  };
  const keep = [{ count: 1, period: "latest" }] as const, counts = countedWith(hasKey);
  const metrics = createMetrics(), notices: (string | undefined)[] = [];
  let isMaking: AbortSignal | undefined;
  const schedule = startBackups({
    ...{
      place,
      counts,
      log,
      metrics,
      settings: { every: hour, keep },
      clock: () => start,
      delays: { first: 0, retry: 0 },
    },
    notice: (cause) => Promise.resolve(void notices.push(cause)),
    async make(ended) {
      isMaking = ended;
      const found = fault?.();
      if (found !== undefined) throw found;
      const made = backupOf(start);
      backups.push(made);
      return {
        ...made,
        ...removal === undefined ? { removed: [] } : await thin(place, keep, start, counts),
        durationMs: 5,
      };
    },
  });
  return { schedule, backups, lines, metrics, notices, isMaking: () => isMaking };
}

test("a backup is made if the newest is as old as the interval, or if there is none", async () => {
  for (const ages of [[], [hour], [3 * hour, 2 * hour], [-2 * hour]]) {
    const { schedule, backups, lines } = stage(ages);
    await until(() => lines.length > 0);
    schedule.stop();
    assert.is(backups.length, ages.length + 1);
    assert.is(schedule.state().newest?.createdAt, start);
    assert.match(lines[0]!, /^Made a backup .*"bytes":7,"durationMs":5,"removed":0/);
  }
});

test("none is made while the newest is younger, so that restarts make no more", async () => {
  const { schedule, backups, metrics } = stage([3 * hour, hour - 1]);
  await until(() => schedule.state().newest !== undefined);
  schedule.stop();
  assert.is(backups.length, 2);
  assert.match(metrics.text(), `promptledger_backup_last_success_timestamp_seconds ${(start - hour + 1) / 1000}`);
  assert.match(metrics.text(), "promptledger_backup_last_bytes 7");
});

test("with a key, a plain backup that someone has put into the place keeps none from being made", async () => {
  const { schedule, backups, lines } = stage([0], undefined, undefined, true);
  await until(() => lines.length > 0);
  schedule.stop();
  assert.is(backups.length, 2);
  assert.match(lines[0]!, /^Made a backup /);
});

test("a backup begins as long before it is due as the last one took, but not without a pause", () => {
  assert.equal([0, 60_000, 2 * hour].map((took) => dueAt(start, hour, took) - start), [hour, hour - 60_000, hour / 2]);
});

test("a failure is logged, counted and kept until a backup succeeds", async () => {
  const { schedule, lines, metrics } = stage([2 * hour], () => invalid("the bucket is full"));
  await until(() => lines.length > 0);
  schedule.stop();
  assert.match(lines[0]!, /^Backup failed; it is tried again {"cause":"the bucket is full","retryInMs":0}/);
  assert.equal(schedule.state().failure, { at: start, cause: "the bucket is full" });
  assert.match(metrics.text(), /promptledger_backup_failures_total [1-9]/);
  assert.is(schedule.state().newest?.createdAt, start - 2 * hour);
});

test("a failure is an event once the next attempt fails too, and so is a success", async () => {
  let left = 3;
  const { schedule, notices, lines } = stage([], () => left-- > 0 ? invalid("the bucket is full") : undefined);
  await until(() => schedule.state().newest !== undefined && notices.length > 2);
  schedule.stop();
  assert.equal(notices, ["the bucket is full", "the bucket is full", undefined]);
  assert.is(lines.at(-1), "Backups succeed again {}");
  assert.is(schedule.state().failure, undefined);
});

test("backups that cannot be removed are a failure and an event, and are tried again without another backup", async () => {
  let left = 3;
  const removal = () => left-- > 0 ? invalid("a place cannot be changed: 403") : undefined;
  const { schedule, notices, lines, backups, metrics } = stage([2 * hour], undefined, removal);
  await until(() => notices.length > 2);
  schedule.stop();
  const cause = "A backup was made. Backups that no rule keeps cannot be removed: a place cannot be changed: 403";
  assert.equal(notices, [cause, cause, undefined]);
  assert.equal(lines.filter((line) => line.startsWith("Made")).length, 1);
  assert.equal(backups.map(({ createdAt }) => createdAt), [start]);
  assert.is(schedule.state().failure, undefined);
  assert.match(metrics.text(), "promptledger_backup_failures_total 3");
});

test("the age of the newest backup is absent until the service has looked, and 0 if there is none", async () => {
  const { schedule, metrics, lines } = stage([], () => invalid("the bucket is full"));
  const name = /^promptledger_backup_last_success_timestamp_seconds .*$/m;
  assert.not.match(metrics.text(), name);
  await until(() => lines.length > 0);
  schedule.stop();
  assert.is(name.exec(metrics.text())?.[0], "promptledger_backup_last_success_timestamp_seconds 0");
});

test("stopping ends the backup that is being made", async () => {
  const { schedule, isMaking, lines } = stage([], () => new Error("killed"));
  await until(() => isMaking() !== undefined);
  schedule.stop();
  assert.ok(isMaking()?.aborted);
  assert.ok(lines.every((line) => !line.includes("Made")));
});

test.run();
