// Reads what a record holds. Its members are JSON as they were sent.
import { stringify } from "../common/json-text.ts";
import type { Diagnosis } from "../schema/ledger.ts";

/** The members of a record that pages show by name. */
type RecordValues = {
  status: number;
  sessionId: string;
  latency: number | null;
  startAt: number | null;
  endAt: number | null;
  content: { input?: unknown; output?: unknown };
};

export const valuesOf = ({ status, sessionId, latency, startAt, endAt, content }: Diagnosis): RecordValues =>
  JSON.parse(stringify({ status, sessionId, latency, startAt, endAt, content }));

export type PartName = "input" | "output";

/** The text of an input or output, if it was sent. */
export function textOf(record: Diagnosis, name: PartName): string | undefined {
  const text = valuesOf(record).content[name];
  return typeof text === "string" ? text : undefined;
}
