// Encrypted backups: what was changed, cut off or encrypted with another key is refused.
// Runs on every runtime in CI.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { decrypt, encrypt, findBackupKey } from "../../src/runtime/backup-encryption.ts";
import type { BackupKey } from "../../src/runtime/backup-encryption.ts";
import { createFolder } from "../conformance/processes.ts";
import { pathOf } from "../runtimes.ts";

const test = suite("encrypted backups");

const { path: folder, remove } = await createFolder();
test.after(remove);

/** A key file with this text. */
async function keyOf(text: string): Promise<BackupKey> {
  const file = `${folder}/${createHash("sha256").update(text).digest("hex")}.key`;
  await writeFile(file, text);
  return (await findBackupKey(file))!;
}

const hex = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const key = await keyOf(`${hex}\n`);

/** Bytes in chunks of these sizes, of which the last is repeated. */
async function* chunked(bytes: Uint8Array, sizes: number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, nth = 0; at < bytes.length; nth++) {
    const size = sizes[Math.min(nth, sizes.length - 1)]!;
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
}

async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const messageOf = async (content: AsyncIterable<Uint8Array>): Promise<string> =>
  await collect(content).then(() => "none", (error: Error) => error.message);

const bytes = fc.uint8Array({ maxLength: 500 }), sizes = fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1 });

test("whatever the chunks are, the content comes back", async () => {
  await fc.assert(
    fc.asyncProperty(bytes, sizes, sizes, async (content, written, read) => {
      const encrypted = await collect(encrypt(chunked(content, written), key));
      assert.is(encrypted.length, content.length + 44);
      assert.ok((await collect(decrypt(chunked(encrypted, read), key))).equals(content));
    }),
    { numRuns: 50 },
  );
});

test("a flipped bit anywhere, and an end that is missing, are refused", async () => {
  await fc.assert(
    fc.asyncProperty(bytes, sizes, fc.nat(), fc.nat(7), async (content, read, place, bit) => {
      const encrypted = await collect(encrypt(chunked(content, [100]), key));
      const flipped = Buffer.from(encrypted);
      flipped[place % flipped.length]! ^= 1 << bit;
      assert.is.not(await messageOf(decrypt(chunked(flipped, read), key)), "none");
      const cut = encrypted.subarray(0, place % encrypted.length);
      assert.is.not(await messageOf(decrypt(chunked(cut, read), key)), "none");
    }),
    { numRuns: 50 },
  );
});

test("each fault has its sentence", async () => {
  const encrypted = await collect(encrypt(chunked(Buffer.from("content"), [3]), key));
  const open = (bytes: Uint8Array, with_: BackupKey | undefined = key) =>
    messageOf(decrypt(chunked(bytes, [9]), with_));
  assert.match(
    await open(encrypted, await keyOf(hex.replace("00", "01"))),
    /^it was encrypted with another key than that/,
  );
  assert.match(await messageOf(decrypt(chunked(encrypted, [9]), undefined)), /^it is encrypted\. Set BACKUP_KEY_FILE/);
  assert.is(await open(encrypted.subarray(0, 20)), "it is cut off");
  assert.is(await open(encrypted.subarray(0, 40)), "it is cut off");
  assert.is(await open(Buffer.alloc(99)), "it is not an encrypted backup");
});

test("a key is 32 bytes in hexadecimal or base64", async () => {
  const base64 = Buffer.from(hex, "hex").toString("base64");
  for (const text of [hex.toUpperCase(), base64, base64.replace("=", "")]) assert.equal(await keyOf(text), key);
  for (const text of ["", "00".repeat(16), `${hex}00`, base64.slice(4), "z".repeat(64), "key ".repeat(11)]) {
    const message = await keyOf(text).then(() => "none", (error: Error) => error.message);
    assert.match(message, /\(BACKUP_KEY_FILE\) must hold 32 bytes in hexadecimal or base64/);
    assert.ok(text === "" || !message.includes(text));
  }
  const missing = await findBackupKey(`${folder}/none`).then(() => "none", (error: Error) => error.message);
  assert.match(missing, /none \(BACKUP_KEY_FILE\) cannot be read: ENOENT/);
});

test("the script of the documentation opens a backup", async () => {
  const [, script] = /```js\n(import \{ createDecipheriv \}.*?)```/s.exec(
    await readFile(pathOf("src/deploy/README.md"), "utf8"),
  )!;
  assert.ok(script!.trim().split("\n").length <= 10);
  await writeFile(`${folder}/open-backup.mjs`, script!);
  await writeFile(`${folder}/the.key`, `${hex}\n`);
  const content = Buffer.from("a database\n".repeat(100_000));
  await writeFile(`${folder}/some.enc`, await collect(encrypt(chunked(content, [65_536]), key)));
  const args = [`${folder}/open-backup.mjs`, `${folder}/the.key`, `${folder}/some.enc`];
  const { stdout } = await promisify(execFile)("node", args, { encoding: "buffer", maxBuffer: 10_000_000 });
  assert.ok(stdout.equals(content));
});

test.run();
