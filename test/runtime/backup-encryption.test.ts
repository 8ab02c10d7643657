// Encrypted backups: age opens them, and those that were changed, cut off or encrypted by someone else are refused.
// Runs on every runtime in CI.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { Decrypter, Encrypter, identityToRecipient, Stanza } from "age-encryption";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { decrypt, encrypt } from "../../src/runtime/backups/backup-encryption.ts";
import { findBackupKey, identityOf } from "../../src/runtime/backups/backup-key.ts";
import type { BackupKey } from "../../src/runtime/backups/backup-key.ts";
import { createFolder } from "../conformance/processes.ts";
import { encryptAes } from "./aes-backup.ts";

const test = suite("encrypted backups");

const { path: folder, remove } = await createFolder();
test.after(remove);

/** The key in a file with this text. */
async function keyOf(text: string): Promise<BackupKey> {
  const file = `${folder}/${createHash("sha256").update(text).digest("hex")}.key`;
  await writeFile(file, text);
  return (await findBackupKey(file))!;
}

const hex = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const key = await keyOf(`${hex}\n`);
const identity = "AGE-SECRET-KEY-1QQGJYV6Y24N80ZYE42AUEH0WLUQPZG3NG32KVAUGNX4THNXAAMLSUX504K";
const otherKey = await keyOf(hex.replace("11", "12"));

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

const encryptBytes = (content: Uint8Array) => collect(encrypt(chunked(content, [16_384]), key));

/** The message of the refusal to open a file in chunks of 9 bytes. */
const open = (bytes: Uint8Array, with_: BackupKey | undefined = key) => messageOf(decrypt(chunked(bytes, [9]), with_));

/** How each version encrypts. */
const formats: [name: string, encrypt: (content: Uint8Array) => Promise<Buffer>][] = [
  ["age", encryptBytes],
  ["an older version", (content) => Promise.resolve(encryptAes(content, key))],
];

const bytes = fc.uint8Array({ maxLength: 500 }), sizes = fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1 });

for (const [format, encryptAs] of formats) {
  test(`whatever the chunks are, the content of a backup by ${format} comes back`, async () => {
    await fc.assert(
      fc.asyncProperty(bytes, sizes, async (content, read) => {
        const encrypted = await encryptAs(content);
        assert.ok((await collect(decrypt(chunked(encrypted, read), key))).equals(content));
      }),
      { numRuns: 50 },
    );
  });

  test(`a flipped bit anywhere in a backup by ${format}, and an end that is missing, are refused`, async () => {
    await fc.assert(
      fc.asyncProperty(bytes, sizes, fc.nat(), fc.nat(7), async (content, read, place, bit) => {
        const encrypted = await encryptAs(content);
        const flipped = Buffer.from(encrypted);
        flipped[place % flipped.length]! ^= 1 << bit;
        assert.is.not(await messageOf(decrypt(chunked(flipped, read), key)), "none");
        const cut = encrypted.subarray(0, place % encrypted.length);
        assert.is.not(await messageOf(decrypt(chunked(cut, read), key)), "none");
      }),
      { numRuns: 50 },
    );
  });

  test(`another key, and none, do not open a backup by ${format}`, async () => {
    const encrypted = await encryptAs(Buffer.from("content"));
    assert.is(await open(encrypted, otherKey), "it was encrypted with another key than that of BACKUP_KEY_FILE");
    const message = await messageOf(decrypt(chunked(encrypted, [9]), undefined));
    assert.is(message, "it is encrypted. Set BACKUP_KEY_FILE to the file with its key");
  });
}

const block = 65_536, tag = 16; // bytes of what age encrypts at once, and of what proves it

test("content comes back whole around the blocks of age, and is refused without its last block", async () => {
  for (const length of [0, 1, block - 1, block, block + 1, 2 * block]) {
    const content = Buffer.alloc(length, "content "), encrypted = await encryptBytes(content);
    assert.ok((await collect(decrypt(chunked(encrypted, [10_000]), key))).equals(content));
    const rest = length % block || Math.min(length, block);
    assert.is.not(await open(encrypted.subarray(0, encrypted.length - rest - tag)), "none");
  }
});

test("whoever has the key opens a backup with age alone", async () => {
  assert.is(identityOf(key), identity);
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const content = Buffer.alloc(100_000, "a database ");
  assert.ok(content.equals(await decrypter.decrypt(await encryptBytes(content))));
});

/** A file as `age --recipient` makes it, with other stanzas if any. */
async function encryptByRecipient(content: string, ...stanzas: Stanza[]): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(identity));
  encrypter.addRecipient({ wrapFileKey: () => stanzas });
  return await encrypter.encrypt(content);
}

// age 1.1.1 made it, with the recipient of the key.
const byAge = Buffer.from(
  "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSB1TkMvREtlMFZ3YzFSalZQM0FoYmpyNkxHbnhFbXpycjhaNjZaZ2JDQzNR" +
    "CitmeENva2xPbXdaUmxDYW03bGhpQThjK0xBZnNncjJGckY5ZVUyamI2bnMKLS0tIEROQnIzV1kzVkJqQUd2YjZxYzFKc1ZTVFd2" +
    "ODBxNUcyOUhRZkFVVDFhWUEKTvQ7As+WBN7CWDD9Gi5MOwfs1VzjkHSPyR5sqI3WW6JUg+xy2mAaaEwo3i7Uk8CIxZDqsUiV+hIz" +
    "Iik+r4A=",
  "base64",
);

test("who knows the public half of the key alone cannot make a backup", async () => {
  const encrypted = await encryptBytes(Buffer.from("content")),
    [, type, proof] = /^-> (\S*promptledger\S*)\n(.*)$/m
      .exec(encrypted.toString("latin1"))!;
  const copied = new Stanza([type!], Buffer.from(proof!, "base64"));
  for (const forged of [byAge, await encryptByRecipient("forged"), await encryptByRecipient("forged", copied)]) {
    const message = await open(forged);
    assert.ok(message.startsWith("nothing proves who encrypted it: "), message);
  }
});

test("a backup says nothing of the key, not even that two are of one", async () => {
  const [one, two] = await Promise.all(["1", "2"].map((text) => encryptBytes(Buffer.from(text))));
  const partsOf = (file: Buffer) => file.toString("latin1").split(/[\s]/).filter((part) => part.length > 30);
  const parts = partsOf(one!);
  assert.ok(parts.length >= 4);
  assert.equal(parts.filter((part) => partsOf(two!).includes(part)), []);
  const recipient = await identityToRecipient(identity);
  assert.not.ok(one!.includes(recipient.slice(4)));
});

test("an older version's backup stays readable", async () => {
  const older = Buffer.from(
    "UExCQUNLVVA+zOesq6WVG79STgu5uFoM4B5q549mPqB8wnz8afjzAUfD73URvQU12wLnQZcVrbX56+F7KsX9p4FC/5JSsIXAVrsM",
    "base64",
  );
  assert.is((await collect(decrypt(chunked(older, [9]), key))).toString(), "a database of an older version\n");
});

/** A file in memory, which notes how much of it was read, and whether it was closed. */
function openFile(content: AsyncIterable<Uint8Array>) {
  const file = { read: 0, isClosed: false, chunks: read() };
  return file;

  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of content) {
        file.read += chunk.length;
        yield chunk;
      }
    } finally {
      file.isClosed = true;
    }
  }
}

async function* failing(start: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(start);
  throw new Error("the disk is gone");
}

test("a file that is no backup is refused before much of it is read", async () => {
  for (const start of ["", "age-encryption.org/v1\n", "age-encryption.org/v1\n-> X25519 ", "PLBACKUP"]) {
    const file = openFile(chunked(Buffer.from(start + "A".repeat(1_000_000)), [1000]));
    assert.is.not(await messageOf(decrypt(file.chunks, key)), "none");
    assert.ok(file.read <= 10_000 && file.isClosed, `${start}: ${file.read} bytes`);
    assert.is.not(await open(Buffer.from(start)), "none");
  }
});

test("no more is read than is asked for, and the file is closed", async () => {
  const content = Buffer.alloc(100 * block, "content "), encrypted = await encryptBytes(content);
  for (const [bytes, direction] of [[content, encrypt], [encrypted, decrypt]] as const) {
    const file = openFile(chunked(bytes, [16_384]));
    let length = 0;
    for await (const chunk of direction(file.chunks, key)) if ((length += chunk.length) > 10 * block) break;
    for (let turn = 0; turn < 10 && !file.isClosed; turn++) await new Promise((resolve) => setTimeout(resolve));
    assert.ok(file.read < 20 * block && file.isClosed, `${file.read} bytes`);
  }
});

test("an error of the file is the error of the backup", async () => {
  const encrypted = await encryptBytes(Buffer.alloc(3 * block));
  for (const direction of [encrypt, decrypt]) {
    assert.is(await messageOf(direction(failing(encrypted.subarray(0, 100_000)), key)), "the disk is gone");
  }
});

test("a key is 32 bytes in hexadecimal or base64, or a key of age-keygen", async () => {
  const base64 = Buffer.from(hex, "hex").toString("base64");
  const generated = `# created: 2026-11-27T18:36:07Z\r\n# public key: age16h5s…\r\n${identity}\r\n`;
  for (const text of [hex.toUpperCase(), base64, base64.replace("=", ""), identity, generated, `# mine\n${hex}`]) {
    assert.equal([...await keyOf(text)], [...key]);
  }
  const faults = ["", "# a comment", "00".repeat(16), `${hex}00`, base64.slice(4), "z".repeat(64), "key ".repeat(11)];
  const ofAge = [
    ...[`${identity}\n${identity}`, `${hex}\n${identity}`, identity.toLowerCase(), identity.slice(0, -1)],
    ...[identity.replace("QQGJ", "QQGQ"), identity.replace("KEY-1", "KEY-PQ-1"), "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-"],
  ];
  for (const text of [...faults, ...ofAge]) {
    const message = await keyOf(text).then(() => "none", (error: Error) => error.message);
    assert.match(message, /\(BACKUP_KEY_FILE\) must hold 32 bytes in hexadecimal or base64/);
    assert.ok(text.length < 20 || !message.includes(text));
  }
  const missing = await findBackupKey(`${folder}/none`).then(() => "none", (error: Error) => error.message);
  assert.match(missing, /none \(BACKUP_KEY_FILE\) cannot be read: ENOENT/);
});

test.run();
