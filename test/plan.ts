// What is tested where. The first lines of a test file say it: by default, `npm test` runs the file on Node alone, and CI on Node
// and on Bun.
import { readFileSync } from "node:fs";
import process from "node:process";
import { parse } from "uvu/parse";
import { installNode, nodeVersions } from "./node-versions.ts";
import { pathOf } from "./runtimes.ts";
import type { Runtime } from "./runtimes.ts";
import type { Job } from "./schedule.ts";

export type TestFile = {
  file: string; // its path in the folder
  runs: Runtime[]; // by `npm test`
  runsInFull: Runtime[]; // in CI
  hasFullForm: boolean; // more is tested in full
  isAlone: boolean; // nothing may run beside it, since it measures
};

/** Where the test files are: another folder in tests of the runner itself. */
export const testFolder = process.env.TEST_FOLDER ?? pathOf("test");

const runtimes: Runtime[] = ["Node", "Bun", "Deno"];

/** One runtime for each engine: what is standard JavaScript runs on Deno, which has that of Node, as it does there. */
const engines: Runtime[] = ["Node", "Bun"];

const isOnEvery = (places: Runtime[]) => places.length === runtimes.length;

/** All test files. */
export async function listFiles(): Promise<TestFile[]> {
  const { suites } = await parse(testFolder, "\\.test\\.ts$");
  return suites.map(({ name: file, file: path }) => {
    const source = readFileSync(path, "utf8");
    const head = source.slice(0, source.indexOf("import "));
    const says = (words: string) => head.includes(`// ${words}.\n`);
    const runsEverywhere = says("Runs on every runtime");
    const isOfRuntimes = runsEverywhere || says("Runs on every runtime in CI");
    return {
      file,
      runs: says("Runs in CI alone") ? [] : runsEverywhere ? runtimes : ["Node"],
      runsInFull: isOfRuntimes ? runtimes : says("Runs on Node alone") ? ["Node"] : engines,
      // Where there are two places, each test runs in one of them.
      hasFullForm: /\bisFull\b|\btest\.full\b|\bopenPlaces\b/.test(source),
      isAlone: says("Runs without others beside it"),
    };
  });
}

const commands: Record<string, string[]> = {
  // The script of the console runs in browsers, and so has types of its own.
  types: ["sh", "-c", "tsc && tsc -p src/console/assets"],
  // With --quiet it would not name the files.
  format: ["deno", "fmt", "--check", ...process.env.TEST_FOLDER === undefined ? [] : [testFolder]],
  lint: ["deno", "lint", "--quiet"],
  prose: ["node", "--import", "tsx", "test/prose.ts", process.env.TEST_FOLDER ?? "."],
};

/** The commands that mend what a step found. */
export const cures: Readonly<Record<string, string>> = { format: "npx deno fmt" };

const runtimeSteps = runtimes.map((runtime) => runtime.toLowerCase());

export const defaultSteps = [...Object.keys(commands), ...runtimeSteps];

/** What can be run. `rest` is what `npm test` leaves out: other runtimes, other versions of Node, and full forms. */
export const steps = [...defaultSteps, ...nodeVersions, "rest"];

/** Names for several steps. */
export const stepSets: Record<string, string[]> = {
  ci: [...Object.keys(commands), "rest"],
  all: [...defaultSteps, "rest"],
};

const unknownSeconds = 10; // that a file takes which was not timed yet

export const durationsPath = pathOf("test/durations.json");
/** Seconds by runtime and file, on an idle machine. `Node in full` has those of full forms that take longer. */
export const durations: Record<string, Record<string, number>> = JSON.parse(readFileSync(durationsPath, "utf8"));

/** The jobs of a step. */
export async function jobsOf(step: string): Promise<Job[]> {
  if (commands[step] !== undefined) return [{ on: step, command: commands[step], seconds: unknownSeconds }];
  const files = await listFiles();
  const runtime = runtimes[runtimeSteps.indexOf(step)];
  if (runtime !== undefined) {
    return files.filter(({ runs }) => runs.includes(runtime)).map((file) => jobOf(runtime, file));
  }
  if (step === "rest") {
    const rest = runtimes.flatMap((runtime) =>
      files
        .filter(({ runsInFull }) => runsInFull.includes(runtime))
        .filter(({ runs, hasFullForm }) => hasFullForm || !runs.includes(runtime))
        // What is the same on all runtimes is exhaustive on Node.
        .map((file) => jobOf(runtime, file, runtime === "Node" || isOnEvery(file.runsInFull)))
    );
    return [...rest, ...(await Promise.all(nodeVersions.map(jobsOf))).flat()];
  }
  const env = { PATH: `${await installNode(step)}:${pathOf("node_modules/.bin")}:${process.env.PATH}` };
  // On the newest version runs what `npm test` runs everywhere. Between it and the oldest it is enough that the package works.
  return files
    .filter(({ file, runs }) => file === "package.test.ts" || step === nodeVersions.at(-1) && isOnEvery(runs))
    .map((file) => ({ ...jobOf("Node", file), on: step.replace("node", "Node "), env }));
}

const workers: Record<Runtime, string[]> = {
  Node: ["node", "--import", "tsx"],
  Bun: ["bun"],
  Deno: ["deno", "run", "--quiet", "--allow-all"],
};

const jobOf = (runtime: Runtime, { file, isAlone }: TestFile, isFull = false): Job => ({
  on: runtime,
  runtime,
  file,
  command: [...workers[runtime], "test/run.ts", "--worker"],
  seconds: (isFull ? durations[fullName(runtime)]?.[file] : undefined) ?? durations[runtime]?.[file] ?? unknownSeconds,
  isAlone,
  ...isFull ? { env: { TEST_SCOPE: "full" } } : {},
});

/** Where `durations` has what full forms take. */
export const fullName = (runtime: string): string => `${runtime} in full`;

/** The command that repeats a test, or a file. */
export function repeatCommand({ runtime, file, env }: Job, name?: string): string {
  const scope = env?.TEST_SCOPE === undefined ? "" : "TEST_SCOPE=full ";
  const test = name === undefined ? "" : ` ${JSON.stringify(name)}`;
  return `${scope}npm run -s test:${runtime?.toLowerCase()} -- ${file}${test}`;
}

/** `Node ledger/model.test.ts` */
export const nameOf = ({ on, file = "" }: Job): string => `${on} ${file}`.trim();
