// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Call } from "../../src/cli/frame/command.ts";
import {
  hashApiKey,
  isApiKey,
  isMaskOf,
  newApiKey,
  newCommitId,
  newId,
  slotId,
  withoutSecrets,
} from "../../src/common/ids.ts";
import { readMonth } from "../../src/log/month-usage.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { requireDeployment } from "../../src/management/deployments/deployments.ts";
import type { Session } from "../../src/management/kernel/operation.ts";
import { getWorkspace } from "../../src/management/kernel/workspaces.ts";

const test = suite("ids");

/** Never called: the compiler holds each of these to be a mistake. */
export function mixUp(management: Session, call: Call, ledger: Ledger): unknown[] {
  const workspaceId = newId("ws", noon), deployId = newId("dep", noon), keyHash = "";
  return [
    // @ts-expect-error: A deployment's id is not a workspace's.
    getWorkspace.run(management, { id: deployId }),
    // @ts-expect-error: Nor is it in what a command calls,
    call(getWorkspace, { id: deployId }),
    // @ts-expect-error: in a filter,
    readMonth(management.database, deployId, "2026-11", () => {}),
    // @ts-expect-error: in what the ledger is asked,
    ledger.admit({ operation: "read", keyHash, deployId: workspaceId }),
    // @ts-expect-error: or in an answer.
    getWorkspace.run(management, { id: workspaceId }).then(({ id }) => requireDeployment(management, id)),
  ];
}

const noon = Date.UTC(2026, 10, 15, 12);

test("an id is its prefix and 26 characters of Crockford's base 32", () => {
  assert.match(newId("ws", Date.UTC(2026, 10, 15)), /^ws_[0-9a-hjkmnp-tv-z]{26}$/);
});

test("ids sort by the time they were made at", () => {
  fc.assert(fc.property(fc.nat({ max: 2 ** 47 }), fc.integer({ min: 1, max: 10 ** 9 }), (at, later) => {
    assert.ok(newId("dep", at) < newId("dep", at + later));
  }));
});

test("ids made in the same millisecond differ", () => {
  const ids = Array.from({ length: 1000 }, () => newId("call", 0));
  assert.is(new Set(ids).size, 1000);
});

test("what is committed at once has ids that end in its place, a record that of its call", () => {
  const commit = newCommitId(noon);
  assert.match(slotId("call", commit, 0), /^call_[0-9a-hjkmnp-tv-z]{24}00$/);
  assert.is(slotId("diag", commit, 255), `diag_${commit}ff`);
  assert.is(commit.slice(0, 10), newId("ws", noon).slice(3, 13));
});

test("a key is pl_, 43 characters of secret and 6 of checksum", () => {
  assert.match(newApiKey(), /^pl_[0-9A-Za-z]{49}$/);
  assert.ok(isApiKey(newApiKey()));
});

test("a typing error in a key fails its checksum", () => {
  const key = newApiKey();
  for (let index = 3; index < key.length; index++) {
    const wrong = key[index] === "a" ? "b" : "a";
    assert.not(isApiKey(key.slice(0, index) + wrong + key.slice(index + 1)), `character ${index}`);
  }
  for (const text of ["", "pl_", key.slice(1), `${key}x`, ` ${key}`, `${key}\n`, key.toUpperCase()]) {
    assert.not(isApiKey(text));
  }
});

test("a key is hashed with SHA-256", async () => {
  assert.is(await hashApiKey("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("a text is known by its mask, and another one is not", () => {
  const plain = fc.string({ unit: fc.constantFrom("a", "b", "…"), maxLength: 8 });
  fc.assert(fc.property(fc.array(plain), fc.constantFrom(newApiKey(), "ab", "…a"), (parts, secret) => {
    const text = parts.join(secret), masked = withoutSecrets(text, [secret]);
    assert.ok(isMaskOf(masked, text));
    assert.not(isMaskOf(masked, `c${text}`) && !masked.startsWith("…"));
    assert.not(isMaskOf(masked, `${text}c`) && !masked.endsWith("…"));
  }));
  assert.not(isMaskOf("Acme …", "Acme "));
  assert.not(isMaskOf("a…b…c", "axbc"));
});

test.run();
