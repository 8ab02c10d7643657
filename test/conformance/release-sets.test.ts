// Release sets beside as many readers as keep the service busy: no reader ever sees half of a set, in whatever service of the
// database, and no state that is older than one that was seen before.
// Runs on Node alone.
// Runs in CI alone.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { usedIn } from "../balanced.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { adminToken } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { openConnection, send, serialize } from "./http-client.ts";
import { createFolder, startService, startSqld } from "./processes.ts";
import { findSqld } from "./sqld.ts";

const test = suite("release sets under load");

const [prompts, sets, readers] = isFull ? [200, 4, 24] : [40, 4, 12];
const title = `no reader sees half of a set of ${prompts} prompts, however many are applied`;

test(`${title} (a file)`, () => inFolder((path) => applyBesideReaders(`file:${path}/ledger.db`, ["Node"])));

const sqld = await findSqld();
if ("missing" in sqld) console.log(`skipped: release sets on a server: ${sqld.missing}`);
else {
  test.full(`${title} (three services on a server)`, () =>
    inFolder(async (path) => {
      const server = await startSqld(sqld.binary, path);
      try {
        await applyBesideReaders(server.url, ["Node", "Bun", "Deno"]);
      } finally {
        await server.stop("SIGKILL");
      }
    }));
}

async function inFolder(run: (path: string) => Promise<void>): Promise<void> {
  const { path, remove } = await createFolder();
  await run(path).finally(remove);
}

async function applyBesideReaders(DATABASE_URL: string, runtimes: Runtime[]): Promise<void> {
  const { tenant } = await createSeededDatabase(DATABASE_URL);
  const settings = { DATABASE_URL, ADMIN_TOKEN: adminToken };
  const services = await Promise.all(runtimes.map((runtime) => startService(runtime, settings)));
  let reads: Awaited<ReturnType<typeof flip>>;
  try {
    reads = await flip(services.map(({ url }) => url), tenant);
    for (const service of services) assert.is(await service.stop(), 0, service.output());
  } finally {
    for (const service of services) await service.stop("SIGKILL");
  }
  const used = await usedIn(DATABASE_URL), { accepted, unknown } = reads;
  assert.ok(used >= accepted && used <= accepted + unknown, `${used} used, ${accepted} accepted, ${unknown} unknown`);
}

/** What a version says: one of two states. */
const stateOf = (version: number): string => version % 2 === 0 ? "even" : "odd";

const mostAttempts = 100;

/** Applies the sets one after the other while readers read. Returns how many reads were accepted, or may have been. */
async function flip(bases: string[], { workspaceId, key }: Tenant) {
  const names = Array.from({ length: prompts }, (_, nth) => `p${nth}`);
  let isOver = false, accepted = 0, unknown = 0;
  // The newest version that anyone has seen of any prompt. From then on, nobody sees an older one.
  let newest = 0;

  /** Whether the service was busy, or could not know what became of a request whose reply of the server came too late. */
  const isPutOff = (status: number) => status === 503 || status === 500 && bases.length > 1;

  async function apply(version: number, attempt = 1): Promise<void> {
    const before = version === 1 ? null : version - 1;
    const content = { title: "Title", messages: [{ role: "user", content: stateOf(version) }] };
    const deploy = [{ name: "live", ifRevision: before }];
    const body = { workspaceId, prompts: names.map((name) => ({ name, ifLatest: before, ...content, deploy })) };
    const request = { method: "POST", headers: [`Authorization: Bearer ${adminToken}`], body: JSON.stringify(body) };
    const base = bases[version % bases.length]!;
    const { status, text } = await send(base, "/admin/v1/apply", request);
    // The same set again does what is left, which may be nothing.
    if (isPutOff(status) && attempt < mostAttempts) return await apply(version, attempt + 1);
    assert.is(status, 200, text);
    newest = Math.max(newest, version);
  }

  async function read(base: string, nth: number): Promise<void> {
    const connection = openConnection(base), headers = [`Authorization: Bearer ${key}`];
    for (let turn = 0; !isOver; turn++) {
      const seen = newest, isOfAll = (turn + nth) % 8 === 0;
      const name = names[(turn * 7 + nth) % names.length]!;
      const path = isOfAll ? "/v1/revisions" : `/v1/prompts?deployId=${name}@live`;
      connection.write(serialize(base, path, { headers }, "keep-alive"));
      const { status, text } = await connection.readAnswer();
      if (isPutOff(status)) {
        if (status === 500) unknown++;
        continue;
      }
      assert.is(status, 200, text);
      const versions = isOfAll ? versionsIn(text) : [versionIn(text)];
      if (!isOfAll) accepted++;
      assert.equal([versions.length, versions[0]! >= seen], [1, true], `${versions} after ${seen} was seen`);
      newest = Math.max(newest, versions[0]!);
    }
    connection.close();
  }

  await apply(1);
  const reading = Promise.all(Array.from({ length: readers }, (_, nth) => read(bases[nth % bases.length]!, nth)));
  const applying = (async () => {
    for (let version = 2; version <= sets; version++) await apply(version);
  })().finally(() => isOver = true);
  await Promise.all([reading, applying]);
  assert.ok(accepted > readers, `${accepted} reads`);
  return { accepted, unknown };
}

/** The version that a prompt has, which must say what it is to say. */
function versionIn(text: string): number {
  const { deploy, messages } = JSON.parse(text) as {
    deploy: { currentVersion: number };
    messages: { content: string }[];
  };
  assert.is(messages[0]!.content, stateOf(deploy.currentVersion));
  return deploy.currentVersion;
}

/** The different versions that the deployments of the sets serve at a moment. */
function versionsIn(text: string): number[] {
  const { deployments } = JSON.parse(text) as { deployments: Record<string, { reference: string; version: number }> };
  const own = Object.values(deployments).filter(({ reference }) => reference.endsWith("@live"));
  assert.is(own.length, prompts);
  return [...new Set(own.map(({ version }) => version))];
}

test.run();
