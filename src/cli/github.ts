// What GitHub Actions shows: annotations at files, and the summary of a step. Other hosts show the text of a plan.
import type { Fault } from "../files/faults.ts";
import type { Plan } from "../files/plan.ts";
import { pathIn } from "../runtime/folder.ts";
import type { Terminal } from "../runtime/terminal.ts";
import { describeCounts, formatPlan, linesOf } from "./plan-text.ts";

type Annotation = { level: "error" | "warning" | "notice"; message: string; file?: string | undefined } & {
  line?: number;
  column?: number;
};

/** `::warning file=prompts/chat.md,line=1::…` */
function formatAnnotation({ level, message, file, line, column }: Annotation): string {
  const places = [["file", file], ["line", line], ["col", column]] as const;
  const given = places.filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escape(String(value)).replace(/:/g, "%3A").replace(/,/g, "%2C")}`);
  return `::${level}${given.length === 0 ? "" : ` ${given.join(",")}`}::${escape(message)}\n`;
}

const escape = (text: string): string => text.replace(/%/g, "%25").replace(/\r/g, "%0D").replace(/\n/g, "%0A");

/** Faults as annotations at their places. */
export const faultAnnotations = (faults: readonly Fault[]): string =>
  faults.map(({ file, line, column, message, isWarning }) =>
    formatAnnotation({ level: isWarning ? "warning" : "error", file, line, column, message })
  ).join("");

/** The lines of a plan as annotations. What was changed elsewhere is a warning. */
export const toAnnotations = (plan: Plan, folder: string): string =>
  linesOf(plan).map(({ sign, text, file }) =>
    formatAnnotation({
      level: sign === "!" ? "warning" : "notice",
      message: `${sign} ${text}`,
      ...(file === undefined ? {} : { file: pathIn(folder, file), line: 1 }),
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
