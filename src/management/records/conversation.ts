// Finds messages in a text: applications send the conversation with a model as the input or output of a record.
import { parseJson, readItems, readMembers, stringifyMembers } from "../../common/json-text.ts";
import { isObject } from "../../schema/struct.ts";

/** Messages of a text, each as the JSON text of an object. `rest` is that of the other members of a request. */
type Conversation = { messages: string[]; rest?: string };

/** Messages of a text that is a message, an array of messages, or a request with one. Undefined for other texts. */
export function findConversation(text: string): Conversation | undefined {
  const value = parse(text);
  if (isMessages(value)) return { messages: readItems(text) };
  if (!isObject(value)) return undefined;
  if (isMessage(value)) return { messages: [text] };
  if (!isMessages(value.messages)) return undefined;
  const members = readMembers(text);
  const messages = readItems(members.get("messages")!);
  members.delete("messages");
  return { messages, ...(members.size === 0 ? {} : { rest: stringifyMembers(members) }) };
}

/** Parses only a text that may be an array or an object, because most texts are neither, and some are long. */
const parse = (text: string): unknown => /^\s*[[{]/.test(text) ? parseJson(text) : undefined;

const isMessage = (value: unknown) => isObject(value) && typeof value.role === "string" && "content" in value;
const isMessages = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isMessage);
