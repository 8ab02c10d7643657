// The warning at startup about a libSQL server that answers before it syncs.
// Runs on every runtime.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { warnOfWeakDurability } from "../../src/runtime/serving/durability.ts";
import { createFolder, findFreePort, startService, startSqld, until } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { blocksOf, commandsIn, documentAt, sectionOf } from "../documents.ts";
import type { ShellCommand } from "../documents.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`durability on ${currentRuntime}`);

/** The warnings about the server with this admin API. */
async function warningsOf(adminUrl: string): Promise<unknown[]> {
  const warnings: unknown[] = [];
  await warnOfWeakDurability(adminUrl, { warn: (message, fields) => void warnings.push([message, fields]) });
  return warnings;
}

const weak =
  "The database server answers before it syncs: a power cut can lose commits. Set its durability_mode to strong";

const sqld = await findSqld();
if ("binary" in sqld) {
  test("the service warns of a server with default durability, and not of one with strong durability", async () => {
    const folder = await createFolder();
    const adminUrl = `http://127.0.0.1:${await findFreePort()}`;
    const server = await startSqld(sqld.binary, folder.path, undefined, ["--admin-listen-addr", adminUrl.slice(7)]);
    try {
      // The admin API listens a moment after the server.
      await until(() => fetch(adminUrl).then((response) => response.text()).then(() => true, () => false));
      assert.equal(await warningsOf(adminUrl), [[weak, { url: adminUrl, durabilityMode: "relaxed" }]]);
      const settings = { DATABASE_URL: server.url, DATABASE_ADMIN_URL: `${adminUrl}/` };
      const service = await startService(currentRuntime, settings);
      assert.is(await service.stop(), 0);
      assert.match(service.output(), weak);
      // The command in src/deploy/README.md.
      const section = sectionOf(documentAt("src/deploy/README.md"), "Make a libSQL server durable");
      const [{ words: [, url, , header, , body] }] = commandsIn(blocksOf(section, "sh")[0]!) as [ShellCommand];
      const headers = [header!.split(": ") as [string, string]];
      await (await fetch(url!.replace("http://127.0.0.1:9090", adminUrl), { method: "POST", headers, body: body! }))
        .text();
      assert.equal(await warningsOf(adminUrl), []);
    } finally {
      await server.stop("SIGKILL");
      await folder.remove();
    }
  });
} else {
  console.log(`skipped: the durability of a server: ${sqld.missing}`);
}

test("the service warns if the admin API does not respond", async () => {
  const [[message, { url, cause }]] = await warningsOf("http://127.0.0.1:1") as [[string, Record<string, string>]];
  assert.is(message, "Cannot check the durability of the database server (DATABASE_ADMIN_URL)");
  assert.is(url, "http://127.0.0.1:1");
  assert.type(cause, "string");
});

test.run();
