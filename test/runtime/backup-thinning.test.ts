// Thinning of backups in a place that others may write to.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readKeepRules } from "../../src/runtime/settings/backup-keep.ts";
import { countedWith, nameOf } from "../../src/runtime/backups/backup-names.ts";
import { keptBackups } from "../../src/runtime/backups/backup-thinning.ts";

const test = suite("thinning of backups");

const start = Date.parse("2026-11-23T10:00:00Z");
const rules = readKeepRules("2 latest, 3 hourly, 2 daily")!;

const backups = (isEncrypted: boolean) =>
  fc.uniqueArray(fc.integer({ min: -200, max: 200 }), { maxLength: 30 }).map((hours) =>
    hours.map((hour) => start + hour * 1_800_000).map((createdAt) => ({
      ...{ name: nameOf(createdAt, isEncrypted), createdAt, bytes: 1 },
    }))
  );

test("with a key, plain backups change nothing for encrypted ones, and without one they count alike", () => {
  fc.assert(fc.property(backups(true), backups(false), (encrypted, plain) => {
    const alone = keptBackups(encrypted, rules, start, countedWith(true));
    const together = keptBackups([...encrypted, ...plain], rules, start, countedWith(true));
    assert.equal(encrypted.map(({ name }) => together.get(name)), encrypted.map(({ name }) => alone.get(name)));
    const all = keptBackups([...encrypted, ...plain], rules, start, countedWith(false));
    assert.equal(plain.map(({ name }) => together.get(name)), plain.map(({ name }) => all.get(name)));
  }));
});

test.run();
