// Backups in a bucket of a real server, while uploads and downloads break off and the server refuses.
// Runs on every runtime in CI.
import { randomBytes } from "node:crypto";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readPlace } from "../../src/runtime/settings/backup-settings.ts";
import { nameOf } from "../../src/runtime/backups/backup-names.ts";
import { openBucketPlace } from "../../src/runtime/backups/backup-bucket.ts";
import { ownedPlace } from "../../src/runtime/backups/backup-owner.ts";
import { createFolder } from "../conformance/processes.ts";
import { currentRuntime } from "../runtimes.ts";
import { refuse, startBucket } from "./bucket.ts";
import type { Fault } from "./bucket.ts";

const test = suite(`backups in a bucket on ${currentRuntime}`);

const { path: folder, remove } = await createFolder();
const bucket = await startBucket(folder);
test.after(async () => {
  await bucket.stop();
  await remove();
});

/** The place, as settings have it. Nothing waits long before it tries again. */
function placeWith(
  env: Record<string, string> = {},
  patience = { request: 60_000, upload: 60_000, stall: 60_000, pause: 1 },
) {
  const all: Record<string, string> = { ...bucket.env, ...env }, faults: string[] = [];
  const { to, bucket: settings } = readPlace("BACKUP_TO", all.BACKUP_TO!, (name) => all[name], faults);
  assert.equal(faults, []);
  return openBucketPlace(to, settings!, patience);
}

const place = placeWith();
const big = randomBytes(20 * 1024 * 1024); // three parts

let second = 0;
const nextName = () => nameOf(Date.parse("2026-11-23T10:00:00Z") + 1000 * second++, false);

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_000) yield await Promise.resolve(bytes.subarray(at, at + 65_000));
}

async function read(name: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of place.get(name)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const messageOf = (work: Promise<unknown>): Promise<string> => work.then(() => "none", (error: Error) => error.message);

/** Whether a request uploads a part. */
const isPart = ({ method, url }: { method?: string | undefined; url?: string | undefined }) =>
  method === "PUT" && url?.includes("partNumber=");

/** Makes a fault for the first requests that fit. */
function first(count: number, fits: (request: Parameters<Fault>[0]) => boolean | undefined, fault: Fault): Fault {
  let left = count;
  return (request, response) => fits(request) && left-- > 0 ? fault(request, response) : false;
}

/** Cuts the connection in the middle of the request's body. */
const cut: Fault = (request, response) => {
  request.once("data", () => response.destroy());
  return true;
};

test("a backup in three parts is listed with its size, read and removed", async () => {
  const name = nextName(), small = nextName();
  assert.is(await place.put(name, chunksOf(big)), big.length);
  assert.is(await place.put(small, chunksOf(big.subarray(0, 10))), 10);
  assert.equal((await place.list()).map(({ name, bytes }) => [name, bytes]), [[small, 10], [name, big.length]]);
  assert.ok((await read(name)).equals(big));
  assert.ok((await read(small)).equals(big.subarray(0, 10)));
  await place.remove(name);
  await place.remove(small);
  await place.remove(small);
  assert.equal(await place.list(), []);
});

test("what is not a backup, or stands elsewhere, is neither listed nor touched", async () => {
  const [above, below] = [
    placeWith({ BACKUP_TO: "s3://backups" }),
    placeWith({ BACKUP_TO: "s3://backups/prod/ledger/old" }),
  ];
  const name = nextName();
  for (const other of [above, below]) await other.put(name, chunksOf(big.subarray(0, 5)));
  await place.put("promptledger-notes.txt", chunksOf(big.subarray(0, 5))).catch(() => {});
  assert.equal(await place.list(), []);
  for (const other of [above, below]) {
    assert.is((await other.list()).length, 1);
    await other.remove(name);
  }
});

test("a place is marked once, and its mark is no backup", async () => {
  const name = nextName(), bytes = () => chunksOf(big.subarray(0, 5));
  assert.is(await place.readMark(), undefined);
  const [first, second] = ["first", "second"].map((owner) => ownedPlace(place, () => Promise.resolve(owner)));
  await first!.put(name, bytes());
  const said = await second!.put(nextName(), bytes()).then(() => "nothing", ({ message }: Error) => message);
  assert.match(said, "has the backups of another database");
  assert.is(await place.readMark(), "first");
  await place.remove(name);
  assert.equal(await place.list(), []);
});

const passing: [name: string, fault: Fault][] = [
  ["the upload of a part breaks off", first(2, isPart, cut)],
  ["the server fails", first(3, () => true, (_, response) => refuse(response, 500, "InternalError", "Try again"))],
  ["the server is busy", first(3, () => true, (_, response) => refuse(response, 503, "SlowDown", "Reduce your rate"))],
  [
    "a proxy answers in place of the server",
    first(2, () => true, (_, response) => {
      response.writeHead(502, { "Content-Type": "text/html" }).end("<html>Bad Gateway</html>");
      return true;
    }),
  ],
  [
    "a portal answers that all is well",
    first(1, ({ method }) => method === "POST", (_, response) => {
      response.writeHead(200, { "Content-Type": "text/html" }).end("<html>Sign in</html>");
      return true;
    }),
  ],
  [
    "the last request fails after its response has begun",
    first(1, ({ url }) => url?.includes("uploadId=") && !url.includes("partNumber="), (_, response) => {
      response.writeHead(200, { "Content-Type": "application/xml" })
        .end("<?xml version='1.0'?>   <Error><Code>InternalError</Code><Message>Sorry</Message></Error>");
      return true;
    }),
  ],
];

for (const [name, fault] of passing) {
  const add = /server fails|breaks off/.test(name) ? test : test.full;
  add(`a backup is stored although ${name}`, async () => {
    const file = nextName();
    assert.is(await bucket.during(fault, () => place.put(file, chunksOf(big))), big.length);
    assert.ok((await read(file)).equals(big));
    await place.remove(file);
  });
}

test("a backup is stored although the response to the last request is lost", async () => {
  const file = nextName();
  // The server completes the upload, and knows nothing of it when it is asked again.
  const isLast: Parameters<typeof first>[1] = ({ method, url }) => method === "POST" && url?.includes("uploadId=");
  let count = 0;
  const lost: Fault = (request, response) => {
    if (!isLast(request)) return false;
    return ++count === 1 ? "lost" : refuse(response, 404, "NoSuchUpload", "The specified upload does not exist");
  };
  assert.is(await bucket.during(lost, () => place.put(file, chunksOf(big.subarray(0, 9)))), 9);
  await place.remove(file);
});

const lasting: [name: string, fault: Fault, error: RegExp][] = [
  [
    "a bucket that is full",
    (request, response) =>
      isPart(request)
        ? refuse(response, 507, "XMinioStorageFull", "Storage backend has reached its minimum free drive threshold.")
        : false,
    /^s3:\/\/backups\/prod\/ledger cannot be written: 507 XMinioStorageFull\. Storage backend has reached/,
  ],
  [
    "a clock that is wrong",
    (_, response) =>
      refuse(
        response,
        403,
        "RequestTimeTooSkewed",
        "The difference between the request time and the current time is too large.",
      ),
    /cannot be listed: 403 RequestTimeTooSkewed\. .*The clock of this machine differs too much/,
  ],
  [
    "a key that may not write",
    (request, response) => request.method === "GET" ? false : refuse(response, 403, "AccessDenied", "Access Denied"),
    /cannot be written: 403 AccessDenied\. Access Denied\. The key needs the permissions to list, read, write and delete$/,
  ],
  [
    "another region",
    (_, response) => {
      response.writeHead(301, { Location: "https://elsewhere.example" }).end();
      return true;
    },
    /cannot be listed: 301\. Check AWS_REGION and the endpoint$/,
  ],
  [
    "what is no S3",
    (_, response) => {
      response.writeHead(200, { "Content-Type": "text/html" }).end("<html>Sign in</html>");
      return true;
    },
    /cannot be listed: TypeError: The answer is none of S3\. Check the endpoint$/,
  ],
  [
    "uploads that always break off",
    (request, response) => isPart(request) ? cut(request, response) : false,
    /cannot be written: /,
  ],
];

for (const [name, fault, error] of lasting) {
  test(`${name} is said in one line, and nothing is listed`, async () => {
    const message = await bucket.during(fault, () => messageOf(place.put(nextName(), chunksOf(big))));
    assert.match(message, error);
    assert.not.match(message, /S3RVER|\n/);
    assert.equal(await place.list(), []);
  });
}

test("a wrong secret, a wrong key and a bucket that is not there are said", async () => {
  assert.match(
    await messageOf(placeWith({ AWS_SECRET_ACCESS_KEY: "other" }).list()),
    /403 SignatureDoesNotMatch.*Check AWS_SECRET_ACCESS_KEY$/,
  );
  assert.match(
    await messageOf(placeWith({ AWS_ACCESS_KEY_ID: "other" }).list()),
    /403 InvalidAccessKeyId.*Check AWS_ACCESS_KEY_ID$/,
  );
  assert.match(
    await messageOf(placeWith({ BACKUP_TO: "s3://nothing" }).list()),
    /^s3:\/\/nothing cannot be listed: 404 NoSuchBucket.*Create the bucket first$/,
  );
});

test("a download that breaks off goes on where it ended", async () => {
  const name = nextName();
  await place.put(name, chunksOf(big));
  let breaks = 0;
  const part = 5_000_000;
  const breaking: Fault = (request, response) => {
    if (request.method !== "GET" || request.url?.includes("list-type")) return false;
    const [, from = "0"] = /bytes=(\d+)-/.exec(request.headers.range ?? "") ?? [];
    const start = Number(from);
    response.writeHead(start > 0 ? 206 : 200, { "Content-Length": String(big.length - start), ETag: '"same"' });
    if (start > 0) assert.is(request.headers["if-match"], '"same"');
    breaks++;
    response.write(big.subarray(start, start + part), () => setTimeout(() => response.destroy(), 50));
    return true;
  };
  assert.ok((await bucket.during(breaking, () => read(name))).equals(big));
  assert.ok(breaks >= 4);
  const nothing: Fault = (_, response) => {
    response.writeHead(200, { "Content-Length": "9" }).flushHeaders();
    setTimeout(() => response.destroy(), 5);
    return true;
  };
  assert.match(
    await bucket.during(nothing, () => messageOf(read(name))),
    /^s3:\/\/backups\/prod\/ledger cannot be read: /,
  );
  await place.remove(name);
});

test("a server that is slow is waited for, and one that does not answer is not", async () => {
  const name = nextName();
  const slow = first(2, isPart, (request, response) => {
    request.on("end", () => setTimeout(() => refuse(response, 503, "SlowDown", "Later"), 100)).resume();
    return true;
  });
  assert.is(await bucket.during(slow, () => place.put(name, chunksOf(big))), big.length);
  let asked = 0;
  const silent: Fault = () => ++asked > 0;
  const hasty = placeWith({}, { request: 50, upload: 50, stall: 50, pause: 1 });
  assert.match(await bucket.during(silent, () => messageOf(hasty.list())), /cannot be listed: The server is silent$/);
  // Six times its minute would be too late to act.
  assert.is(asked, 2);
  asked = 0;
  const standing: Fault = (request, response) => {
    asked++;
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    response.writeHead(from > 0 ? 206 : 200, { "Content-Length": String(9 - from) });
    if (from === 0) response.write("12345");
    else response.flushHeaders();
    return true;
  };
  const reading = async () => {
    for await (const _ of hasty.get(name)) { /* reads on */ }
  };
  assert.match(await bucket.during(standing, () => messageOf(reading())), /cannot be read: The server is silent$/);
  assert.is(asked, 2);
  await place.remove(name);
});

const endings: [name: string, fault: Fault][] = [
  ["a body that never ends", (_, response) => {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const write = () => {
      while (!response.destroyed && response.write(chunk)) { /* until the reader is slower */ }
    };
    response.on("drain", write).writeHead(200);
    write();
    return true;
  }],
  ["a listing that never ends", (_, response) => {
    const token = `<NextContinuationToken>${Math.random()}</NextContinuationToken>`;
    response.end(`<ListBucketResult><IsTruncated>true</IsTruncated>${token}</ListBucketResult>`);
    return true;
  }],
  ["a listing whose rest cannot be asked for", (_, response) => {
    response.end("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>");
    return true;
  }],
];

for (const [name, fault] of endings) {
  // That takes a thousand requests.
  const add = name === "a listing that never ends" ? test.full : test;
  add(`${name} is refused`, async () => {
    const message = await bucket.during(fault, () => messageOf(place.list()));
    assert.is(
      message,
      "s3://backups/prod/ledger cannot be listed: TypeError: The answer is none of S3. Check the endpoint",
    );
  });
}

test("a refusal whose body never ends is a refusal, and elements that do not end take no time", async () => {
  const endless: Fault = (request, response) => {
    const [, refusal] = endings[0]!;
    response.writeHead = ((writeHead) => () => writeHead.call(response, 403))(
      response.writeHead,
    ) as typeof response.writeHead;
    return refusal(request, response);
  };
  assert.is(
    await bucket.during(endless, () => messageOf(place.list())),
    "s3://backups/prod/ledger cannot be listed: 403",
  );
  const start = performance.now();
  const open: Fault = (_, response) => {
    response.end(`<ListBucketResult>${"<Contents>".repeat(100_000)}</ListBucketResult>`);
    return true;
  };
  assert.equal(await bucket.during(open, () => place.list()), []);
  assert.ok(performance.now() - start < 5_000);
});

test("a server that lists all it has is asked for no more, and a name that is taken is kept", async () => {
  const name = nextName();
  const all: Fault = (request, response) => {
    if (!request.url?.includes("list-type")) return false;
    const names = [
      `elsewhere/x/${name}`,
      `prod/ledger/${name}`,
      ...Array.from({ length: 9_000 }, (_, nth) => `${nth}`),
    ];
    const items = names.map((key) => `<Contents><Key>${key}</Key><Size>7</Size></Contents>`);
    response.end(`<ListBucketResult>${items.join("")}</ListBucketResult>`);
    return true;
  };
  const named = (await bucket.during(all, () => place.list())).map(({ name }) => name);
  assert.equal(named, [name]);
  await place.put(name, chunksOf(big.subarray(0, 5)));
  assert.is(
    await messageOf(place.put(name, chunksOf(big.subarray(0, 9)))),
    `s3://backups/prod/ledger already has ${name}`,
  );
  assert.ok((await read(name)).equals(big.subarray(0, 5)));
  await place.remove(name);
});

test("what is left of uploads that were killed is removed, if it is of a backup of ours", async () => {
  const [mine, other] = [nextName(), "promptledger-notes.txt"];
  const removed: string[] = [];
  const listed: Fault = (request, response) => {
    if (request.method === "DELETE") {
      removed.push(request.url!);
      response.writeHead(204).end();
      return true;
    }
    if (!request.url?.includes("uploads=")) return false;
    assert.match(request.url, "prefix=prod%2Fledger%2Fpromptledger-");
    const uploads = [mine, other, `old/${mine}`].map((name) =>
      `<Upload><Key>prod/ledger/${name}</Key><UploadId>a&amp;b</UploadId></Upload>`
    );
    response.end(`<ListMultipartUploadsResult>${uploads.join("")}</ListMultipartUploadsResult>`);
    return true;
  };
  await bucket.during(listed, () => place.tidy());
  assert.equal(removed, [`/backups/prod/ledger/${mine}?uploadId=a%26b`]);
  // This server cannot list them.
  await place.tidy();
});

test.run();
