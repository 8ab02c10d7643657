// LangSmith: commits of prompts. A manifest is a serialisation of LangChain's objects. It is read as data, and never run.
import { isObject } from "../../schema/struct.ts";
import { byTitle, leaveOut, listIn, objectIn, objectsIn, readObjects } from "./reader.ts";
import { textIn, textOf, toConfig, toMessages } from "./reader.ts";
import type { Importer, Json } from "./reader.ts";
import type { Language } from "../template-logic.ts";

export const readLangSmith: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).flatMap(({ path, value }) => {
      const title = textIn(value, "repo_handle") || textIn(value, "name") || path.replace(/^.*\/|\.\w+$/g, "");
      const number = textIn(value, "commit_hash").slice(0, 12),
        place = number === "" ? title : `${title} commit ${number}`;
      const manifest = isObject(value.manifest) ? value.manifest : value;
      const template = findObject(manifest, /PromptTemplate$/);
      if (template === undefined) {
        options.complain(place, "has no template of messages");
        return [];
      }
      leaveOut(value, ["examples", "tags", "readme"], place, options.complain);
      const made = messagesOf(template, place, options.complain);
      const messages = made && toMessages(made.messages, made.language, place, options);
      const llmConfig = toConfig(modelOf(manifest, template), place, options.complain);
      const description = textIn(value, "description");
      const version = messages && { number, description, messages, llmConfig, note: "", labels: [] };
      return [{ title, order: Date.parse(textIn(value, "created_at")), version }];
    }),
  );

const nameOf = (value: Json): string => textOf(listIn(value, "id").at(-1));

/** The first serialised object with such a name, in the manifest or in what is in it. */
function findObject(value: unknown, name: RegExp): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => findObject(item, name)).find((found) => found !== undefined);
  if (!isObject(value)) return undefined;
  if (value.lc !== undefined && name.test(nameOf(value))) return value;
  return Object.values(value).map((member) => findObject(member, name)).find((found) => found !== undefined);
}

const rolesOf: Record<string, string> = { System: "system", Human: "user", AI: "assistant", Tool: "tool" };

/** The messages of a template, and the language of its texts. */
function messagesOf(
  template: Json,
  place: string,
  complain: (place: string, message: string) => void,
): { messages: object[]; language: Language } | undefined {
  const kwargs = objectIn(template, "kwargs");
  const given = Array.isArray(kwargs.messages)
    ? objectsIn(kwargs, "messages")
    : [{ id: ["HumanMessagePromptTemplate"], kwargs: { prompt: template } }];
  let language: Language = "f-string";
  const messages = given.map((message, nth) => {
    const name = nameOf(message), own = objectIn(message, "kwargs");
    if (name === "MessagesPlaceholder") return { role: "placeholder", content: `{{${textIn(own, "variable_name")}}}` };
    const [, kind = ""] = /^(System|Human|AI|Tool|Chat)Message(PromptTemplate)?$/.exec(name) ?? [];
    const role = kind === "Chat" ? textIn(own, "role") : rolesOf[kind];
    const prompt = objectIn(objectIn(own, "prompt"), "kwargs");
    const content = typeof own.content === "string" ? own.content : prompt.template;
    if (prompt.template_format === "mustache") language = "mustache";
    if (prompt.template_format === "jinja2") language = "jinja";
    if (role !== undefined && role !== "" && typeof content === "string") return { role, content };
    return void complain(`${place}, message ${nth + 1}`, `${name || "It"} is no message with a text`);
  });
  return messages.includes(undefined) ? undefined : { messages: messages as object[], language };
}

/** The settings of the model that is bound to a template, and who provides it. */
function modelOf(manifest: Json, template: Json): Json {
  const model = manifest === template
    ? undefined
    : findObject(manifest, /^(?!.*(PromptTemplate|Message|Sequence|Binding|Parser|Placeholder)).*$/);
  if (model === undefined) return {};
  return { provider: textOf(listIn(model, "id").at(-2)), ...objectIn(model, "kwargs") };
}
