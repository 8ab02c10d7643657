// `npm run faults`: breaks the service under load, on each runtime, and says what is left. Options: --fault PATTERN,
// --runtime NAME (both repeatable), --rounds N, --json. Exits 1 when anything was lost, doubled or wrong.
import process from "node:process";
import { parseArgs } from "node:util";
import type { Runtime } from "../runtimes.ts";
import { faults } from "./faults.ts";
import type { Report } from "./faults.ts";

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

const reports: (Report & { fault: string; runtime: Runtime })[] = [];
for (const [name, fault] of chosen) {
  for (const runtime of chosenRuntimes) {
    const say = (text: string) => console.error(`${name}, ${runtime}: ${text}`);
    reports.push({ fault: name, runtime, ...await fault.hit(runtime, rounds ?? fault.rounds, say) });
  }
}

const failed = reports.filter(({ lost, doubled, faults }) => lost + doubled + faults.length > 0);
if (options.json) console.log(JSON.stringify(reports));
else print();
process.exitCode = failed.length === 0 ? 0 : 1;

function print(): void {
  const head = ["fault", "runtime", "rounds", "requests", "lost", "double", "figures"];
  const rows = reports.map(({ fault, runtime, rounds, requests, lost, doubled, faults, figures }) =>
    [fault, runtime, rounds, requests, lost, doubled, [figures, ...faults].join("; ")].map(String)
  );
  console.log([head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n"));
}
