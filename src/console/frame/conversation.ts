// Reads messages from JSON text, of a prompt or of an application's input or output, and the other members of a record.
import { indent, readMembers, stringify, stringifyMembers } from "../../common/json-text.ts";
import { findConversation } from "../../management/records/conversation.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { isObject } from "../../schema/struct.ts";

/** A message: its role, and its content as text. `more` is the JSON text of its other members. */
export type Message = { role: string; content: string; more?: string };

/** Reads a message from its JSON text. */
export function readMessage(text: string): Message {
  const members = readMembers(text);
  const role = JSON.parse(members.get("role")!) as string;
  const content = contentText(members.get("content")!);
  members.delete("role");
  members.delete("content");
  return { role, content, ...(members.size === 0 ? {} : { more: indent(stringifyMembers(members)) }) };
}

/** Texts of parts are joined by blank lines. Anything else is shown as JSON. */
function contentText(json: string): string {
  const value: unknown = JSON.parse(json);
  if (typeof value === "string") return value;
  if (value === null) return "";
  const isTexts = Array.isArray(value) && value.every((part) => isObject(part) && typeof part.text === "string");
  return isTexts ? value.map((part: { text: string }) => part.text).join("\n\n") : indent(json);
}

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

/** Preview of an input or output: the last message of a conversation. Undefined if it was not sent. */
export function lastText(record: Diagnosis, name: PartName): string | undefined {
  const text = textOf(record, name), last = text === undefined ? undefined : findConversation(text)?.messages.at(-1);
  return last === undefined ? text : readMessage(last).content;
}
