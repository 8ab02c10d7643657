// Exports records as test cases of promptfoo, one per line, for evaluation there.
import { stringify } from "../../common/json-text.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { readTexts, toFeedbackCells, toIsoTime } from "../kernel/export.ts";

/**
 * Writes records as test cases. `names` are the workspace's feedback names. A case has the input as the variable
 * `input`, and the output as `reference`, for assertions to compare with. Its metadata has both exactly as they were
 * submitted, data of the record, all feedback on it, and its value under each name.
 */
export async function* toPromptfoo(pages: AsyncIterable<Diagnosis[]>, names: string[]): AsyncGenerator<string> {
  for await (const page of pages) yield page.map((record) => `${JSON.stringify(toTestCase(record, names))}\n`).join("");
}

function toTestCase({ feedback, ...record }: Diagnosis, names: string[]) {
  const { id, reference, promptVersion, sessionId, status, createdAt } = record;
  const { input, output } = readTexts(record.content);
  const [all, ...values] = toFeedbackCells(feedback, names);
  return {
    vars: {
      ...membersOf(input),
      ...input !== undefined && { input: toInert(input) },
      ...output !== undefined && { reference: toInert(output) },
    },
    metadata: {
      ...{ record: id, deployment: reference, promptVersion, sessionId: decoded(sessionId), status: decoded(status) },
      ...{ createdAt: toIsoTime(createdAt), input, output, feedback: decoded(all) ?? undefined },
      ...Object.fromEntries(names.map((name, nth) => [`feedback.${name}`, values[nth] ?? undefined])),
    },
  };
}

const decoded = (value: unknown): unknown => JSON.parse(stringify(value));

/** Converts an input that is a JSON object to variables of the prompt, if they are texts, numbers or booleans. */
function membersOf(input: string | undefined): Record<string, unknown> {
  if (input?.trimStart().startsWith("{") !== true) return {};
  try {
    const members = Object.entries(JSON.parse(input) as object);
    return Object.fromEntries(
      members.flatMap(([name, value]) => isVariable(name, value) ? [[name, inertIfText(value)]] : []),
    );
  } catch {
    return {};
  }
}

const isVariable = (name: string, value: unknown): boolean =>
  /^[A-Za-z]\w*$/.test(name) && ["string", "number", "boolean"].includes(typeof value);

const inertIfText = (value: unknown): unknown => typeof value === "string" ? toInert(value) : value;

/**
 * promptfoo runs the templates in the texts of variables, and replaces a text that names a file or a package with its
 * content or result. An invisible word joiner prevents both.
 */
const toInert = (text: string): string =>
  text.replace(/\{(?=[{%#])/g, "{\u2060").replace(/^(?=(?:file|package):)/i, "\u2060");
