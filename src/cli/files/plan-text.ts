// Text of a plan: one change per line, with the differences of texts below it. GitHub Actions shows annotations at
// files, and the summary of a step.
import type { Fault } from "../../files/formats/faults.ts";
import { isChange } from "../../files/plan.ts";
import type { Authorship, Plan, Promotion, PromptPlan, VariableChange } from "../../files/plan.ts";
import { pathFromRoot } from "../../runtime/folder.ts";
import { findRoot } from "../../runtime/git.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import { oneLine, stripControls } from "../frame/format.ts";

const bold = "\x1b[1m", red = "\x1b[31m", green = "\x1b[32m", yellow = "\x1b[33m", cyan = "\x1b[36m", plain = "\x1b[m";
const colours: Record<string, string> = { "+": green, "~": yellow, "→": cyan, "!": red, "-": red };

/** A line of a plan. `sign` is its kind, and `file` is the path of the prompt's file. */
type PlanLine = { sign: "+" | "~" | "→" | "!" | "-"; text: string; diff?: string; file?: string | undefined };

/** The lines of a plan, prompts in order. */
export const linesOf = ({ prompts }: Plan): PlanLine[] => prompts.flatMap(linesOfPrompt);

function linesOfPrompt({ name, path, was, base, push, promotions, archives, drift, sameAs }: PromptPlan): PlanLine[] {
  const lines: PlanLine[] = [];
  // Others wrote the notes and the texts: none may control the terminal, or look like another line.
  const add = (sign: PlanLine["sign"], text: string, diff = "") =>
    lines.push({ sign, text: oneLine(text), diff: stripControls(diff), file: path });
  if (was !== undefined) add("~", `${name}: renamed from ${was}`);
  if (push !== undefined && base === null) add("+", `${name}: new prompt`);
  else if (push !== undefined) add("~", `${name}: version ${push.version}`, push.diff);
  for (const promotion of promotions) {
    add("→", `${name}@${promotion.deployment}: ${describePromotion(promotion)}`);
    if (promotion.drift !== undefined && promotion.from !== undefined) {
      add(
        "!",
        `${name}@${promotion.deployment}: version ${promotion.from} was made live elsewhere${
          describeAuthor(promotion.drift)
        }`,
      );
    }
  }
  const rename = sameAs === undefined ? "" : `. ${sameAs} has its content: to rename it, add was: ${name} to that file`;
  if (archives !== undefined) add("-", `${name}: archive, with its deployments${rename}`);
  else if (drift?.kind === "prompt") {
    add("!", `${name}: is in no file. Version ${drift.version} was pushed${describeAuthor(drift)}${rename}`);
  } else if (drift !== undefined) {
    add("!", `${name}: version ${drift.version} was pushed elsewhere, and no file has it${describeAuthor(drift)}`);
  }
  return lines;
}

/** `7 → 8, variables: + shop, - store` */
function describePromotion({ from, to, isProtected, variables, endsRollout }: Promotion): string {
  const move = from === undefined ? `new, version ${to}` : `${from} → ${to}`;
  const ended = endsRollout === undefined ? [] : [describeEnd(endsRollout, to)];
  return [move, ...(isProtected ? ["protected"] : []), ...describeVariables(variables), ...ended].join(", ");
}

/** Effect of a promoted version on the rollout of another one, or of its own. */
const describeEnd = (candidate: number, promoted: number): string =>
  `${candidate === promoted ? "completes" : "ends"} the rollout of version ${candidate}`;

function describeVariables({ added, removed }: VariableChange): string[] {
  const changes = [...added.map((name) => `+ ${name}`), ...removed.map((name) => `- ${name}`)];
  return changes.length === 0 ? [] : [`variables: ${changes.join(", ")}`];
}

/** ` by Ada (console) on 2026-11-24 12:03Z: "Hotfix"` */
function describeAuthor({ actor, source, note, createdAt }: Authorship): string {
  const by = actor === "" ? "" : ` by ${actor}`, how = source === null ? "" : ` (${source})`;
  const at = createdAt === 0 ? "" : ` on ${new Date(createdAt).toISOString().slice(0, 16).replace("T", " ")}Z`;
  return `${by}${how}${at}${note === "" ? "" : `: "${note}"`}`;
}

/** The plan as text. With `isColoured`, signs and differences have colours. */
export function formatPlan(plan: Plan, isColoured: boolean): string {
  const paint = (sign: string, text: string) => isColoured ? `${colours[sign] ?? ""}${text}${plain}` : text;
  const lines = linesOf(plan).flatMap(({ sign, text, diff = "" }) => [
    paint(sign, `${sign} ${text}`),
    // The line above names the two versions.
    ...diff.split("\n").slice(2).filter((line) => line !== "").map(unlikeCommand).map((line) =>
      `    ${paint(/^[+-]/.test(line) ? line[0]! : line.startsWith("@") ? "→" : "", line)}`
    ),
  ]);
  const summary = isColoured ? `${bold}${describeCounts(plan)}${plain}` : describeCounts(plan);
  return `${[...lines, summary].join("\n")}\n`;
}

/** A line that begins with `::`, after spaces, is a command to GitHub Actions. */
const unlikeCommand = (line: string): string => line.replace(/^(\s+)::/, "$1\\::");

export function countsOf({ prompts }: Plan): Record<keyof typeof words, number> {
  const count = (test: (prompt: PromptPlan) => boolean) => prompts.filter(test).length;
  const promotions = prompts.flatMap(({ promotions }) => promotions);
  return {
    prompts: count(({ push, base }) => push !== undefined && base === null),
    versions: count(({ push, base }) => push !== undefined && base !== null),
    promotions: promotions.length,
    renames: count(({ was }) => was !== undefined),
    archived: count(({ archives }) => archives !== undefined),
    changedElsewhere: count(({ drift, archives }) => drift !== undefined && archives === undefined) +
      promotions.filter(({ drift, from }) => drift !== undefined && from !== undefined).length,
  };
}

const words = {
  prompts: ["new prompt", "new prompts"],
  versions: ["new version", "new versions"],
  promotions: ["promotion", "promotions"],
  renames: ["rename", "renames"],
  archived: ["archived prompt", "archived prompts"],
  changedElsewhere: ["change elsewhere", "changes elsewhere"],
} as const;

/** `2 new versions, 1 promotion`, or that there is nothing to do. */
export function describeCounts(plan: Plan): string {
  const said = Object.entries(countsOf(plan)).filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${words[name as keyof typeof words][count === 1 ? 0 : 1]}`).join(", ");
  if (plan.prompts.some(isChange)) return said;
  return said === "" ? "Nothing to do: files and ledger are the same" : `Nothing to do. ${said}`;
}

type Annotation = { level: "error" | "warning" | "notice"; message: string; file?: string | undefined } & {
  line?: number;
  column?: number;
};

/** `::warning file=prompts/chat.md,line=1::…` */
function formatAnnotation({ level, message, file, line, column }: Annotation): string {
  const places = [["file", file], ["line", line], ["col", column]] as const;
  const given = places.filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escape(oneLine(String(value))).replace(/:/g, "%3A").replace(/,/g, "%2C")}`);
  return `::${level}${given.length === 0 ? "" : ` ${given.join(",")}`}::${escape(oneLine(message))}\n`;
}

const escape = (text: string): string => text.replace(/%/g, "%25").replace(/\r/g, "%0D").replace(/\n/g, "%0A");

/** Makes a function of a path as people know it, which gives the one from the root of the repository, as GitHub does. */
export async function pathsOnGithub(folder: string, { env }: Terminal): Promise<(path: string) => string> {
  const root = await findRoot(folder) ?? env.GITHUB_WORKSPACE;
  return (path) => root ? pathFromRoot(root, path) : path;
}

/** Faults as annotations at their places. */
export const faultAnnotations = (faults: readonly Fault[], toPath: (path: string) => string): string =>
  faults.map(({ file, line, column, message, isWarning }) =>
    formatAnnotation({ level: isWarning ? "warning" : "error", file: toPath(file), line, column, message })
  ).join("");

/** The lines of a plan as annotations. What was changed elsewhere is a warning. */
export const toAnnotations = (plan: Plan, toPath: (path: string) => string): string =>
  linesOf(plan).map(({ sign, text, file }) =>
    formatAnnotation({
      level: sign === "!" ? "warning" : "notice",
      message: `${sign} ${text}`,
      ...(file === undefined ? {} : { file: toPath(file), line: 1 }),
    })
  ).join("") + `${describeCounts(plan)}\n`;

/** Appends the plan to the summary of the step, if GitHub Actions runs. */
export async function writeStepSummary(plan: Plan, { env, append }: Terminal): Promise<void> {
  const { GITHUB_STEP_SUMMARY } = env;
  if (!GITHUB_STEP_SUMMARY) return;
  const text = formatPlan(plan, false);
  // A fence longer than any in the prompts.
  const fence = "`".repeat(Math.max(3, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length + 1)));
  await append(GITHUB_STEP_SUMMARY, `### Prompts: ${describeCounts(plan)}\n\n${fence}diff\n${text}${fence}\n`);
}
