// Formats a record for people: its input and output as written, or as a conversation if they hold messages.
import { jsonText, readMembers, stringify, stringifyMembers } from "../../common/json-text.ts";
import { findConversation } from "../../management/records/conversation.ts";
import { describeJson, describeMessage, describeText } from "../../management/prompts/prompt-text.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { feedbackOf, recordCell, toFeedbackRow } from "./feedback.ts";
import { format, indented } from "../frame/format.ts";

/** A record as lines, and its input and output below them. */
export function recordText(record: object & { content?: unknown; feedback?: unknown }): string {
  const { content, feedback, ...meta } = record;
  const text = stringify(content);
  // The URL may be that of another service.
  if (!text.startsWith("{")) return format(record);
  const members = readMembers(text);
  const sections = ["input", "output"].flatMap((name) => {
    const member = members.get(name);
    if (!member?.startsWith('"')) return [];
    members.delete(name);
    return [`\n${name}\n${indented(describe(JSON.parse(member)))}\n`];
  });
  const rest = members.size === 0 ? {} : { content: jsonText(stringifyMembers(members)) };
  const pieces = feedbackOf({ feedback });
  const judged = pieces.length === 0 ? "" : `\nfeedback\n${indented(format(pieces.map(toFeedbackRow)))}`;
  return `${format({ ...meta, ...rest })}${sections.join("")}${judged}`;
}

/** A backslash marks a line that looks like the header of a message. */
const describe = (text: string): string =>
  findMessages(text)?.join("\n") ?? describeText(text).replace(/^\\*--- /gm, "\\$&");

/** The lines of the messages in a text, and of other members. Undefined for a text without messages. */
function findMessages(text: string): string[] | undefined {
  const found = findConversation(text);
  if (found === undefined) return undefined;
  const lines = found.messages.flatMap(describeMessage);
  return found.rest === undefined ? lines : [...lines, "--- with", describeJson(found.rest)];
}

/** The first line of the output of a record, or else of its input. */
export function previewOf({ content }: Diagnosis): string {
  const json = stringify(content);
  if (!json.startsWith("{")) return "";
  const { input, output } = JSON.parse(json) as { input?: unknown; output?: unknown };
  return String(output || input || "").trim().split("\n")[0]!;
}

/** A status with its name. */
export const statusOf = ({ status, statusName }: Diagnosis): string =>
  statusName === null ? stringify(status) : `${stringify(status)} ${statusName}`;

/** A record on one line. The most important columns come first, because a narrow terminal shows the last ones below. */
export const toRecordRow = (record: Diagnosis) => ({
  createdAt: record.createdAt,
  status: statusOf(record),
  text: previewOf(record),
  sessionId: record.sessionId,
  version: record.promptVersion,
  latency: record.latency,
  ...recordCell(record),
  keyId: record.keyId,
  id: record.id,
});

/** Row of a record in a list across deployments. */
export function toWorkspaceRow(record: Diagnosis) {
  const { createdAt, status, ...rest } = toRecordRow(record);
  return { createdAt, status, deployment: record.reference ?? record.deployId, ...rest };
}
