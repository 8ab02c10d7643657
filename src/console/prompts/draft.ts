// A prompt as a form has it: a box for each message, and JSON where a box cannot hold what is there. What is not changed stays
// as it was, to the byte.
import { invalidField, Refusal, refusalAt } from "../../common/errors.ts";
import { describeJsonFault } from "../../support/json-fault.ts";
import { indent, jsonText, readItems, readMembers, stringifyMembers } from "../../common/json-text.ts";
import { faultsOfDeclarations, toDeclarations } from "../../management/prompts/declarations.ts";
import type { Declarations } from "../../management/prompts/declarations.ts";
import type { PromptContent } from "../../management/prompts/prompt-text.ts";
import { parseObject } from "../../schema/parse.ts";

/**
 * A message in a form. `content` is JSON text with `isJson`. `more` is the JSON text of its other members, or empty.
 */
export type DraftMessage = { role: string; content: string; isJson: boolean; more: string };

export type Draft = {
  name: string;
  title: string;
  description: string;
  messages: DraftMessage[];
  llmConfig: string;
  /** JSON text, or empty. */
  declarations: string;
  note: string;
};

export const emptyDraft: Draft = {
  name: "",
  title: "",
  description: "",
  messages: [
    { role: "system", content: "", isJson: false, more: "" },
    { role: "user", content: "", isJson: false, more: "" },
  ],
  llmConfig: '{\n  "model": ""\n}',
  declarations: "",
  note: "",
};

/** A version as a draft of the next one. */
export const toDraft = ({ title, description, messages, llmConfig, declarations }: PromptContent): Draft => ({
  ...{ name: "", title, description, note: "" },
  messages: readItems(messages.text).map(toDraftMessage),
  llmConfig: indent(llmConfig.text),
  declarations: indent(declarations?.text ?? ""),
});

// A text box drops carriage returns, and a parser of HTML replaces control characters.
const isForBox = (text: string): boolean => !/[^\P{Cc}\t\n]/u.test(text);

function toDraftMessage(text: string): DraftMessage {
  const members = readMembers(text);
  const role = JSON.parse(members.get("role")!) as string, json = members.get("content")!;
  members.delete("role");
  members.delete("content");
  const content = json.startsWith('"') ? JSON.parse(json) as string : undefined;
  const more = members.size === 0 ? "" : indent(stringifyMembers(members));
  return content !== undefined && isForBox(content)
    ? { role, content, isJson: false, more }
    : { role, content: indent(json), isJson: true, more };
}

const lines = (text: string | null): string => (text ?? "").replace(/\r\n?/g, "\n");

/** The draft that a form sent. */
export function readDraft(form: URLSearchParams): Draft {
  const messages: DraftMessage[] = [];
  for (let index = 0; form.has(`role-${index}`); index++) {
    messages.push({
      role: (form.get(`role-${index}`) ?? "").trim(),
      content: lines(form.get(`content-${index}`)),
      isJson: form.get(`json-${index}`) === "yes",
      more: lines(form.get(`more-${index}`)).trim(),
    });
  }
  const text = (name: string) => lines(form.get(name));
  return {
    ...{ name: text("name").trim(), title: text("title").trim(), description: text("description"), note: text("note") },
    messages,
    llmConfig: text("llmConfig"),
    declarations: text("declarations"),
  };
}

/** Changes the messages as a button of the form asks: `add`, `remove-1`, `up-1`, `down-1`. */
export function rearrange(draft: Draft, action: string): Draft {
  const messages = [...draft.messages];
  const [, verb, at] = /^(add|remove|up|down)(?:-(\d+))?$/.exec(action) ?? [];
  const index = Number(at ?? messages.length);
  const role = messages.at(-1)?.role === "user" ? "assistant" : "user";
  if (verb === "add") messages.push({ role, content: "", isJson: false, more: "" });
  else if (verb !== undefined && index < messages.length) {
    const [moved] = messages.splice(index, 1);
    if (verb === "up") messages.splice(Math.max(index - 1, 0), 0, moved!);
    else if (verb === "down") messages.splice(index + 1, 0, moved!);
  }
  return { ...draft, messages };
}

/** The content of a draft. Throws what is wrong with JSON in it, under the name of its field in the form. */
export function contentOf(draft: Draft): PromptContent {
  const messages = draft.messages.map((message, index) =>
    stringifyMembers([
      ["role", JSON.stringify(message.role)],
      ["content", readContent(message, index)],
      ...readMore(message, index),
    ])
  );
  const { title, description } = draft, declarations = readDeclared(draft);
  return {
    ...{ title, description, ...(declarations === undefined ? {} : { declarations }) },
    messages: jsonText(`[${messages.join(",")}]`),
    llmConfig: jsonText(stringifyMembers(readSettings(draft))),
  };
}

/** Faults of the JSON in a draft, by the name of its field in the form. */
export function faultsOf(draft: Draft): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  const check = (read: () => unknown) => {
    try {
      read();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      faults.set(error.field!, error.message);
    }
  };
  for (const [index, message] of draft.messages.entries()) {
    check(() => readContent(message, index));
    check(() => readMore(message, index));
  }
  check(() => readSettings(draft));
  check(() => readDeclared(draft));
  return faults;
}

function readContent({ content, isJson }: DraftMessage, index: number): string {
  if (!isJson) return JSON.stringify(content);
  const whole = `Content of message ${index + 1}`, text = content.trim() === "" ? "null" : content;
  return membersIn(text, `content-${index}`, whole, (json) => `{"value":${json}}`).get("value")!;
}

function readMore({ more }: DraftMessage, index: number): Map<string, string> {
  if (more === "") return new Map();
  const members = membersIn(more, `more-${index}`, `More fields of message ${index + 1}`);
  const twice = ["role", "content"].find((name) => members.has(name));
  if (twice !== undefined) {
    throw invalidField(
      `more-${index}`,
      `Message ${index + 1} has a field for ${twice}: remove it from its more fields`,
    );
  }
  return members;
}

const readSettings = ({ llmConfig }: Draft): Map<string, string> =>
  membersIn(llmConfig.trim() === "" ? "{}" : llmConfig, "llmConfig", "Model settings");

function readDeclared({ declarations }: Draft): Declarations | undefined {
  if (declarations.trim() === "") return undefined;
  const text = stringifyMembers(membersIn(declarations, "declarations", "Variables"));
  const [fault] = faultsOfDeclarations(text, "declarations");
  if (fault !== undefined) throw invalidField("declarations", fault.message);
  return toDeclarations(jsonText(text));
}

/** The members of the JSON text in a field, which messages call `whole`, or of an object that is made around it. */
function membersIn(text: string, field: string, whole: string, around = (json: string) => json): Map<string, string> {
  const fault = describeJsonFault(text);
  if (fault !== undefined) throw invalidField(field, `${whole} must be valid JSON: ${fault}`);
  try {
    return parseObject(around(text), whole).members;
  } catch (error) {
    throw error instanceof Refusal ? refusalAt(field, error) : error;
  }
}

const shownDeclared = ({ declarations }: PromptContent): string => indent(declarations?.text ?? "");

/** The content with the texts of another one wherever a form shows both alike, so that only what was edited changes. */
export function keepUnchanged(content: PromptContent, base: PromptContent): PromptContent {
  const before = readItems(base.messages.text), shown = before.map((text) => JSON.stringify(toDraftMessage(text)));
  const messages = readItems(content.messages.text).map((text) => {
    const same = shown.indexOf(JSON.stringify(toDraftMessage(text)));
    return same < 0 ? text : before[same]!;
  });
  const isSameConfig = indent(content.llmConfig.text) === indent(base.llmConfig.text);
  const isSameDeclared = shownDeclared(content) === shownDeclared(base);
  const isSameDescription = lines(base.description) === content.description;
  const { declarations } = isSameDeclared ? base : content;
  return {
    ...(declarations === undefined ? {} : { declarations }),
    title: content.title,
    description: isSameDescription ? base.description : content.description,
    messages: jsonText(`[${messages.join(",")}]`),
    llmConfig: isSameConfig ? base.llmConfig : content.llmConfig,
  };
}

/** Refuses a draft that has no name yet. */
export function requireName({ name }: Draft): string {
  if (name === "") throw invalidField("name", "Give the prompt a name, such as support/assistant");
  return name;
}
