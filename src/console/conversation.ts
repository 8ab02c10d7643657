// Reads messages out of JSON text: those of a prompt, and those that an application sent as its input or output.
import { indent, readItems, readMembers, stringifyMembers } from "../common/json-text.ts";
import { findConversation } from "../management/conversation.ts";
import { isObject } from "../schema/struct.ts";

/** A message: its role, and its content as text. `more` is the JSON text of its other members. */
export type Message = { role: string; content: string; more?: string };

/** The messages in a text that is a message, an array of them, or a request that has one; undefined for any other text. */
export const readConversation = (text: string): Message[] | undefined =>
  findConversation(text)?.messages.map(readMessage);

/** The messages in the JSON text of an array. */
export const readMessages = (text: string): Message[] => readItems(text).map(readMessage);

function readMessage(text: string): Message {
  const members = readMembers(text);
  const role = JSON.parse(members.get("role")!) as string;
  const content = contentText(members.get("content")!);
  members.delete("role");
  members.delete("content");
  return { role, content, ...(members.size === 0 ? {} : { more: indent(stringifyMembers(members)) }) };
}

/** Texts of parts stand below each other. Anything else is shown as JSON. */
function contentText(json: string): string {
  const value: unknown = JSON.parse(json);
  if (typeof value === "string") return value;
  if (value === null) return "";
  const isTexts = Array.isArray(value) && value.every((part) => isObject(part) && typeof part.text === "string");
  return isTexts ? value.map((part: { text: string }) => part.text).join("\n\n") : indent(json);
}

/** The content of the last message in a text that holds messages. */
export const lastMessage = (text: string): string | undefined => readConversation(text)?.at(-1)?.content;
