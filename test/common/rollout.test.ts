// Who gets the candidate of a rollout. Vectors that every client can be held to are in test/client/rollout-vectors.json:
// `UPDATE_VECTORS=1` writes them again, for `deno fmt`.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import fc from "fast-check";
import * as assert from "uvu/assert";
import { bucketOf, isInRollout } from "../../src/common/rollout.ts";
import { pathOf } from "../runtimes.ts";
import { suite } from "../suite.ts";

const test = suite("rollout");

type Vector = { deployId: string; salt: string; key: string; tenths: number; bucket: string; isCandidate: boolean };

const path = pathOf("test/client/rollout-vectors.json");

/** The same by another way: the digest of node:crypto as one big integer, of which the first 48 of 256 bits count. */
const expected = (deployId: string, salt: string, key: string, tenths: number) => {
  const digest = BigInt(`0x${createHash("sha256").update(`${deployId}.${salt}.${key}`, "utf8").digest("hex")}`);
  const bucket = digest >> 208n;
  return { bucket: String(bucket), isCandidate: bucket * 1000n < BigInt(tenths) * 2n ** 48n };
};

const got = async (deployId: string, salt: string, key: string, tenths: number) => {
  const bucket = await bucketOf(deployId, salt, key);
  return { bucket: String(bucket), isCandidate: isInRollout(bucket, tenths) };
};

const odd = [
  "a",
  "0",
  " ",
  ".",
  "a.b",
  "\0",
  "Ünal",
  "e\u0301",
  "\u00e9",
  "日本語",
  "\u{1F44B}",
  "👩‍👩‍👧",
  "\u202eabc",
  "'\"<&",
  "x".repeat(200),
];
const shares = [1, 10, 100, 333, 500, 999, 1000];

/** Deterministic, so that writing them again changes nothing. */
function makeVectors(count: number): Vector[] {
  return Array.from({ length: count }, (_, nth) => {
    const deployId = `dep_${nth % 7}`, salt = `s${nth % 11}`;
    const key = nth < odd.length
      ? odd[nth]!
      : nth % 5 === 0
      ? `${odd[nth % odd.length]!.slice(0, 20)}-${nth}`
      : `u${nth}`;
    const tenths = shares[nth % shares.length]!;
    return { deployId, salt, key, tenths, ...expected(deployId, salt, key, tenths) };
  });
}

test("the vectors hold, and are as many as clients need", async () => {
  if (process.env.UPDATE_VECTORS !== undefined) {
    const lines = makeVectors(300).map((vector) => `  ${JSON.stringify(vector)}`);
    writeFileSync(path, `[\n${lines.join(",\n")}\n]\n`);
  }
  const vectors: Vector[] = JSON.parse(readFileSync(path, "utf8"));
  assert.equal(vectors, makeVectors(300));
  for (const { deployId, salt, key, tenths, bucket, isCandidate } of vectors) {
    assert.equal(await got(deployId, salt, key, tenths), { bucket, isCandidate }, key);
  }
});

test("10,000 keys are in the same buckets by another implementation", async () => {
  const key = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).map((text) => text.toWellFormed());
  const cases = fc.sample(fc.tuple(fc.uuid(), fc.uuid(), key, fc.integer({ min: 1, max: 1000 })), 10_000);
  for (const [deployId, salt, key, tenths] of cases) {
    assert.equal(await got(deployId, salt, key, tenths), expected(deployId, salt, key, tenths));
  }
});

test("the edge of a share is exact", () => {
  for (let tenths = 1; tenths <= 1000; tenths++) {
    // The least bucket that is not in it.
    const edge = Number((BigInt(tenths) * 2n ** 48n + 999n) / 1000n);
    assert.equal([isInRollout(edge - 1, tenths), isInRollout(edge, tenths)], [true, false], String(tenths));
  }
});

const keys = 20_000;
const bucketsOf = (salt: string): Promise<number[]> =>
  Promise.all(Array.from({ length: keys }, (_, nth) => bucketOf("dep_1", salt, `user-${nth}`)));

test("shares are met within 4 sigma, and raising one keeps those that have it", async () => {
  const buckets = await bucketsOf("salt");
  let before = new Set<number>();
  for (const tenths of [1, 10, 100, 500, 999, 1000]) {
    const now = new Set(buckets.filter((bucket) => isInRollout(bucket, tenths)));
    const share = tenths / 1000, sigma = Math.sqrt(keys * share * (1 - share));
    assert.ok(Math.abs(now.size - keys * share) <= 4 * sigma, `${now.size} at ${tenths}`);
    assert.ok([...before].every((bucket) => now.has(bucket)), `raised to ${tenths}`);
    before = now;
  }
});

test("two rollouts are independent", async () => {
  const [one, other] = [await bucketsOf("one"), await bucketsOf("other")];
  const both = one.filter((bucket, nth) => isInRollout(bucket, 500) && isInRollout(other[nth]!, 500)).length;
  const sigma = Math.sqrt(keys * 0.25 * 0.75);
  assert.ok(Math.abs(both - keys / 4) <= 4 * sigma, String(both));
});

test.run();
