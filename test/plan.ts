// What is tested where. The first lines of a test file say it: by default, `npm test` runs the file on Node alone, and CI on Node
// and on Bun.
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { installNode, nodeVersions } from "./node-versions.ts";
import { pathOf } from "./runtimes.ts";
import type { Runtime } from "./runtimes.ts";
import { workerCommand } from "./schedule.ts";
import type { Job } from "./schedule.ts";

/** A test file, by its path in the folder. */
export type TestFile = {
  file: string;
  /** Where `npm test` runs it. */
  runs: Runtime[];
  /** Where CI runs it. */
  runsInFull: Runtime[];
  /** Whether it tests what differs between runtimes. */
  isOfRuntimes: boolean;
  /** Whether it does more in full. */
  hasFullForm: boolean;
  /** Whether nothing may run beside it, since it measures. */
  isAlone: boolean;
};

/** Where the test files are: another folder in tests of the runner itself. */
export const testFolder = process.env.TEST_FOLDER ?? pathOf("test");

const everywhere: Runtime[] = ["Node", "Bun", "Deno"];

/** One runtime for each engine: what is standard JavaScript runs on Deno, which has that of Node, as it does there. */
const engines: Runtime[] = ["Node", "Bun"];

/** All test files. */
export function listFiles(): TestFile[] {
  const names = readdirSync(testFolder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".test.ts")).sort().map((file) => {
    const source = readFileSync(`${testFolder}/${file}`, "utf8");
    const says = (words: string) => source.slice(0, source.indexOf("import ")).includes(`// ${words}.\n`);
    const runsEverywhere = says("Runs on every runtime");
    const isOfRuntimes = runsEverywhere || says("Runs on every runtime in CI");
    return {
      file,
      runs: says("Runs in CI alone") ? [] : runsEverywhere ? everywhere : ["Node"],
      runsInFull: isOfRuntimes ? everywhere : says("Runs on Node alone") ? ["Node"] : engines,
      isOfRuntimes,
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

const runtimes: Record<string, Runtime> = { node: "Node", bun: "Bun", deno: "Deno" };

export const defaultSteps = [...Object.keys(commands), ...Object.keys(runtimes)];

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
  const files = listFiles();
  if (step in commands) return [{ on: step, command: commands[step]!, seconds: unknownSeconds }];
  const runtime = runtimes[step];
  if (runtime !== undefined) {
    return files.filter(({ runs }) => runs.includes(runtime)).map((file) => jobOf(runtime, file));
  }
  if (step === "rest") {
    const rest = everywhere.flatMap((runtime) =>
      files
        .filter(({ runs, runsInFull }) => runsInFull.includes(runtime) || runs.includes(runtime))
        .filter(({ runs, hasFullForm }) => hasFullForm || !runs.includes(runtime))
        .map((file) => {
          // What is the same on all runtimes is exhaustive on Node.
          const isInFull = runtime === "Node" || file.isOfRuntimes;
          return jobOf(runtime, file, isInFull ? inFull(runtime, file) : {});
        })
    );
    return [...rest, ...(await Promise.all(nodeVersions.map(jobsOf))).flat()];
  }
  const env = { PATH: `${await installNode(step)}:${pathOf("node_modules/.bin")}:${process.env.PATH}` };
  // On the newest version runs what `npm test` runs everywhere. Between it and the oldest it is enough that the package works.
  const isChosen = ({ file, runs }: TestFile) =>
    file === "package.test.ts" || step === nodeVersions.at(-1) && runs.length === everywhere.length;
  const chosen = files.filter(isChosen);
  return chosen.map((file) => jobOf("Node", file, { on: step.replace("node", "Node "), env }));
}

const jobOf = (runtime: Runtime, { file, isAlone }: TestFile, more: Partial<Job> = {}): Job => ({
  on: runtime,
  runtime,
  file,
  command: workerCommand(runtime),
  seconds: durations[runtime]?.[file] ?? unknownSeconds,
  isAlone,
  ...more,
});

/** How a job is in full. */
function inFull(runtime: Runtime, { file }: TestFile): Partial<Job> {
  const seconds = durations[fullName(runtime)]?.[file];
  return { env: { TEST_SCOPE: "full" }, ...seconds === undefined ? {} : { seconds } };
}

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
