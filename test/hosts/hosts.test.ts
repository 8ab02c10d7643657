// The service mounted in other servers: every host for the runtime that runs the tests goes through the same checks.
import process from "node:process";
import { suite } from "uvu";
import { findSqld } from "../conformance/sqld.ts";
import { currentRuntime } from "../runtimes.ts";
import { checksAfterParser } from "./body-checks.ts";
import { checks, settle } from "./checks.ts";
import { hosts, hostsAfterParser } from "./hosts.ts";
import type { Host } from "./hosts.ts";
import { createStages } from "./stage.ts";
import type { Check, Stage } from "./stage.ts";

const sqld = await findSqld();
const stages = await createStages("binary" in sqld ? sqld.binary : undefined);

/** One host's checks on one process, as long as they pass: the one after a failure gets a new one. */
function testHost(host: Host, itsChecks: Check[]): void {
  const test = suite(`${host.name} on ${currentRuntime}`);
  let stage: Stage | undefined;

  for (const { name, run, closes } of itsChecks) {
    if (host.isWorker && closes) continue;
    test(name, async () => {
      const current = stage ?? await stages.open(host);
      stage = undefined;
      try {
        await run(current);
        if (!closes) await settle(current);
      } catch (error) {
        const end = await current.stop();
        throw end === undefined ? error : new Error(end, { cause: error });
      }
      if (closes) await current.stop();
      else stage = current;
    });
  }
  test.after(async () => void await stage?.stop());
  test.run();
}

// `HOSTS=express,koa` picks hosts by their files.
const picked = process.env.HOSTS?.split(",");
const isWanted = ({ file, runtimes }: Host) => runtimes.includes(currentRuntime) && (picked?.includes(file) ?? true);

for (const host of hosts.filter(isWanted)) {
  if (host.isWorker && "missing" in sqld) console.log(`skipped: ${host.name}: ${sqld.missing}`);
  else testHost(host, checks);
}
for (const host of hostsAfterParser.filter(isWanted)) testHost(host, checksAfterParser);

const last = suite("hosts");
last.after(() => stages.remove());
last("every runtime has hosts", () => {});
last.run();
