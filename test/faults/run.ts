// `npm run faults`: breaks the service under load, on each runtime, and reports what was lost. Options: --fault PATTERN,
// --runtime NAME (both repeatable), --rounds N, --json. Exits with 1 if anything was lost, stored twice or wrong.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs, promisify } from "node:util";
import { commandOf, pathOf } from "../runtimes.ts";
import type { Runtime } from "../runtimes.ts";
import type { Report } from "./fault.ts";
import { faults } from "./faults.ts";

const runtimes: Runtime[] = ["Node", "Bun", "Deno"];

const { values: options } = parseArgs({
  options: {
    fault: { type: "string", multiple: true, default: [""] },
    runtime: { type: "string", multiple: true, default: runtimes },
    rounds: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

const chosen = Object.entries(faults).filter(([name]) => options.fault.some((pattern) => name.includes(pattern)));
const chosenRuntimes = runtimes.filter((runtime) => options.runtime.includes(runtime));
const rounds = options.rounds === undefined ? undefined : Number(options.rounds);
if (chosen.length === 0 || chosenRuntimes.length === 0 || !(rounds === undefined || rounds > 0)) {
  console.error(`Faults are: ${Object.keys(faults).join("; ")}. Runtimes are: ${runtimes.join(", ")}`);
  process.exit(2);
}

// Children and mounts end with this process, so it exits properly on a signal too.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

const date = new Date().toISOString().slice(0, 10);
const versions: Record<string, string> = {};
for (const runtime of chosenRuntimes) versions[runtime] = await versionOf(runtime);
versions.libsql = await libsqlVersion();

const reports: (Report & { fault: string; runtime: Runtime })[] = [];
for (const [name, fault] of chosen) {
  for (const runtime of chosenRuntimes) {
    const say = (text: string) => console.error(`${name}, ${runtime}: ${text}`);
    const report = await fault.hit(runtime, rounds ?? fault.rounds, say).catch(failedReport);
    reports.push({ fault: name, runtime, ...report });
  }
}

const failed = reports.filter(({ lost, doubled, faults, slow = [] }) =>
  lost + doubled + faults.length + slow.length > 0
);
if (options.json) console.log(JSON.stringify({ date, versions, reports }));
else print();
// A fault that failed may have left something open, which must not keep this process alive.
process.stdout.write("", () => process.exit(failed.length === 0 ? 0 : 1));

function failedReport(error: unknown): Report {
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  console.error(text);
  const faults = [`failed: ${text.split("\n")[0]}`];
  return { lost: 0, doubled: 0, faults, rounds: 0, requests: 0, figures: "none" };
}

async function versionOf(runtime: Runtime): Promise<string> {
  const { stdout } = await promisify(execFile)(commandOf[runtime]("test/bench/run.ts")[0], ["--version"]);
  return /\d+\.\d+\.\d+/.exec(stdout)![0];
}

async function libsqlVersion(): Promise<string> {
  return JSON.parse(await readFile(pathOf("node_modules/libsql/package.json"), "utf8")).version;
}

function print(): void {
  console.log(`${[date, ...Object.entries(versions).map((entry) => entry.join(" "))].join(", ")}\n`);
  const head = ["fault", "runtime", "rounds", "requests", "lost", "double", "figures"];
  const rows = reports.map(({ fault, runtime, rounds, requests, lost, doubled, faults, slow = [], figures }) =>
    [fault, runtime, rounds, requests, lost, doubled, [figures, ...faults, ...slow].join("; ")].map(String)
  );
  console.log([head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n"));
}
