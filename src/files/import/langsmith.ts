// LangSmith: commits of prompts, and prompt files of LangChain. A manifest is a serialisation of LangChain's objects. It is read as
// data, and never run.
import { jsonText, stringify, stringifyMembers } from "../../common/json-text.ts";
import type { DeclaredVariable } from "../formats/declarations.ts";
import { joinWords, textMessage } from "../formats/messages.ts";
import type { TemplateMessage } from "../formats/messages.ts";
import { fillTemplate } from "../formats/template-logic.ts";
import type { Language } from "../formats/template-logic.ts";
import { byTitle, nameOfFile, readObjects, readPlaceholder, soleText, toVersion } from "./reader.ts";
import type { Complain, Importer, ReadVersion } from "./reader.ts";
import { toSource } from "../formats/source.ts";
import type { ConfigMember, Source } from "../formats/source.ts";

export const readLangSmith: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).flatMap(({ file, value }): ReadVersion[] => {
      const title = value.text("repo_handle", "repo", "name") || nameOfFile(file);
      const number = value.text("commit_hash").slice(0, 12),
        place = number === "" ? title : `${title} commit ${number}`;
      value.skip("owner", "full_name");
      const parts = readManifest(value.has("manifest") ? value.object("manifest") : value, place, options.complain);
      if (parts.messages === undefined) {
        if (!parts.isFaulty) options.complain(place, "has no template of messages");
        return parts.isFaulty ? [{ title, version: undefined }] : [];
      }
      const outer: ConfigMember[] = [
        ["provider", value.anything("model_provider")],
        ...value.object("model_config").rest(),
      ];
      const created = Date.parse(value.text("created_at")), description = value.text("description");
      const config = [...outer, ...parts.config];
      return [toVersion(value, { ...parts, title, number, place, description, config, order: created }, options)];
    }),
  );

/** The messages of a manifest, and the configuration of the model that is bound to them. */
type Manifest = {
  messages: TemplateMessage[] | undefined;
  isFaulty: boolean;
  config: ConfigMember[];
  declared: Map<string, DeclaredVariable>;
};

type Reading = Manifest & { place: string; complain: Complain };

/** The part of an id from its end: the name of a class is the last one. */
function idOf(value: Source, at = -1): string {
  const part = (JSON.parse(value.find(["id"], /^\[/) ?? "[]") as unknown[]).at(at);
  return typeof part === "string" ? part : "";
}

// Classes by the names that prompt files of LangChain have for them.
const classes: Record<string, string> = { prompt: "PromptTemplate", few_shot: "FewShotPromptTemplate" };

/** Determines if a value is a prompt file, which has its members where a serialised object has `kwargs`. */
const isFile = (value: Source): boolean => value.has("input_variables") && !value.has("kwargs");

function classOf(value: Source): string {
  const type = value.text("_type") || (value.has("example_prompt") ? "few_shot" : "prompt");
  return isFile(value) && Object.hasOwn(classes, type) ? classes[type]! : idOf(value);
}

/** Reads the `kwargs` of a serialised object, which are the members of a prompt file. Its class is known by then. */
function kwargsOf(value: Source): Source {
  value.skip("lc", "type", "id", "name", "graph", "_type");
  return isFile(value) ? value : value.object("kwargs");
}

function readManifest(manifest: Source, place: string, complain: Complain): Manifest {
  const reading: Reading = { messages: undefined, isFaulty: false, config: [], declared: new Map(), place, complain };
  visit(manifest, reading);
  return reading;
}

/** Reads a serialised object, and those in it: sequences of a template and a model, a model with tools, and so on. */
function visit(value: Source, reading: Reading): void {
  const name = classOf(value), { complain, place, config } = reading;
  if (/(?:Sequence|Playground)$/.test(name)) {
    const steps = kwargsOf(value);
    for (const step of [steps.object("first"), ...steps.list("middle", "steps"), steps.object("last")]) {
      visit(step, reading);
    }
  } else if (/Binding$/.test(name)) {
    const binding = kwargsOf(value);
    visit(binding.object("bound"), reading);
    config.push(...binding.object("kwargs").rest(), ...binding.object("config").rest());
  } else if (/^StructuredPrompt$|PromptTemplate$/.test(name)) {
    if (reading.messages === undefined) readTemplate(value, name, reading);
    else complain(place, `A second template, ${name}, is left out`, true);
  } else if (/Parser$|^Runnable/.test(name)) {
    value.skip(...value.names());
    complain(place, `${name} is left out`, true);
  } else if (value.names().length > 0 && value.has("kwargs") && name !== "") {
    // Whatever else stands behind a template is its model.
    config.push(["provider", JSON.stringify(idOf(value, -2))], ...modelMembers(kwargsOf(value)));
  }
}

/** The settings of a model. The name of one of OpenAI's stands in `model` or in `model_name`. */
function modelMembers(kwargs: Source): ConfigMember[] {
  const model = kwargs.anything("model", "model_name");
  kwargs.skip("model", "model_name");
  return [["model", model], ...kwargs.rest()];
}

function readTemplate(template: Source, name: string, reading: Reading): void {
  const kwargs = kwargsOf(template), { complain, place, config } = reading;
  skipDerived(kwargs);
  const partials = partialsOf(kwargs);
  if (name === "StructuredPrompt") {
    const schema = kwargs.anything("schema_", "schema"),
      own = kwargs.object("structured_output_kwargs", "structuredOutputKwargs");
    const title = schema === undefined ? "" : toSource(schema).text("title", "name");
    const json_schema = { name: title || "output", schema: schema && jsonText(schema), strict: flagOf(own, "strict") };
    if (schema !== undefined) config.push(["response_format", stringify({ type: "json_schema", json_schema })]);
    own.skip("method");
  }
  const messages = kwargs.has("messages")
    ? kwargs.list("messages").map((message, nth) =>
      readMessage(message, `${place}, message ${nth + 1}`, partials, reading)
    )
    : [textOfTemplate(template, kwargs, name, partials, reading)];
  reading.isFaulty = messages.includes(undefined);
  if (!reading.isFaulty) reading.messages = messages.flatMap((message) => message ?? []);
  if (partials.size > 0) {
    complain(place, `The partial variables ${joinWords([...partials.keys()])} are filled in`, true);
  }
}

const flagOf = (value: Source, name: string): boolean | undefined => value.has(name) ? value.isTrue(name) : undefined;

/** Leaves out members that follow from the texts of a template, or are alike in all serialisations. */
const skipDerived = (kwargs: Source): void =>
  kwargs.skip("input_variables", "input_types", "validate_template", "validateTemplate", "optional_variables");

const languages: Record<string, Language> = { mustache: "mustache", jinja2: "jinja", "f-string": "f-string" };
const languageOf = (kwargs: Source): Language =>
  languages[kwargs.text("template_format", "templateFormat")] ?? "f-string";

/** The values that a template has of its own for some of its variables. */
function partialsOf(kwargs: Source): Map<string, string> {
  const partials = kwargs.object("partial_variables", "partialVariables");
  return new Map(
    partials.names().flatMap((name) => {
      const value = partials.text(name);
      return value === "" ? [] : [[name, value] as const];
    }),
  );
}

/** A text of a template with its own values filled in. */
function textOf(kwargs: Source, outer: ReadonlyMap<string, string>): { text: string; language: Language } | undefined {
  skipDerived(kwargs);
  const template = kwargs.find(["template"], /^"/), language = languageOf(kwargs);
  const values = new Map([...outer, ...partialsOf(kwargs)]);
  if (template === undefined) return undefined;
  return { text: fillTemplate(JSON.parse(template) as string, language, values), language };
}

const rolesOf: Record<string, string> = {
  ...{ System: "system", Human: "user", AI: "assistant", Tool: "tool", Function: "function", Developer: "developer" },
};

/** Undefined if a fault was reported. */
type Messages = TemplateMessage[] | undefined;

function readMessage(
  message: Source,
  place: string,
  partials: ReadonlyMap<string, string>,
  reading: Reading,
): Messages {
  const name = classOf(message), { complain } = reading;
  if (name === "FewShotChatMessagePromptTemplate") return readExamples(kwargsOf(message), place, reading);
  if (/^(?:Chat)?PromptTemplate$/.test(name)) return readNested(message, place, partials, reading);
  const own = kwargsOf(message);
  if (name === "MessagesPlaceholder") {
    const variable = own.text("variable_name", "variableName"),
      placeholder = readPlaceholder(variable, place, complain);
    if (own.isTrue("optional")) reading.declared.set(variable, { type: "messages", required: false });
    return placeholder && [placeholder];
  }
  const [, kind = "", isTemplate] = /^(\w+?)Message(?:Chunk)?(PromptTemplate)?$/.exec(name) ?? [];
  // LangChain has messages of the developer as such of the system.
  const special = own.object("additional_kwargs").text("__openai_role__");
  const role = special || (kind === "Chat" ? own.text("role") : rolesOf[kind] ?? "");
  if (role === "") return void complain(place, `${name || "It"} is no message with a role`);
  skipDerived(own);
  const content = isTemplate === undefined ? literalContent(own) : templateContent(own, partials);
  if (content === undefined) return void complain(place, `${name} has no text, and no list of texts and images`);
  return [{ ...content, role, members: membersOf(own) }];
}

/** The content of a message that is no template: its texts are sent as they are. */
function literalContent(own: Source): Pick<TemplateMessage, "content" | "language"> | undefined {
  const content = own.find(["content"], /^["[]/);
  return content === undefined ? undefined : { content: soleText(content), language: "plain" };
}

/** The content of a template: one text, or parts that are texts, images or objects. */
function templateContent(
  own: Source,
  partials: ReadonlyMap<string, string>,
): Pick<TemplateMessage, "content" | "language"> | undefined {
  const list = own.list("prompt");
  if (list.length === 0) {
    const prompt = own.object("prompt"), sole = textOf(kwargsOf(prompt), partials);
    prompt.skip("id");
    return sole && { content: JSON.stringify(sole.text), language: sole.language };
  }
  const used = new Set<Language>();
  const parts = list.map((part) => {
    part.skip("id");
    const kwargs = kwargsOf(part), template = kwargs.find(["template"], /^\{/);
    if (template === undefined) {
      const sole = textOf(kwargs, partials);
      if (sole === undefined) return undefined;
      used.add(sole.language);
      return stringify({ type: "text", text: sole.text });
    }
    used.add(languageOf(kwargs));
    skipDerived(kwargs);
    const members = toSource(template);
    return members.has("url") ? stringifyMembers([["type", '"image_url"'], ["image_url", template]]) : template;
  });
  // The parts of a message are in one language.
  if (parts.includes(undefined) || used.size > 1) return undefined;
  return { content: soleText(`[${parts.join(",")}]`), language: [...used][0] ?? "f-string" };
}

/** The other members of a message: names, and calls of tools in the form of the Chat Completions API. */
function membersOf(own: Source): [string, string][] {
  const additional = own.object("additional_kwargs");
  const members: [string, string][] = [];
  const add = (name: string, json: string | undefined) => json !== undefined && members.push([name, json]);
  add("name", own.find(["name"], /^"/));
  add("tool_call_id", own.find(["tool_call_id"], /^"/));
  const calls = own.list("tool_calls").map((call) => {
    call.skip("type");
    const called = { name: call.text("name"), arguments: call.anything("args") ?? "{}" };
    return { id: call.text("id"), type: "function", function: called };
  });
  if (calls.length > 0) add("tool_calls", stringify(calls));
  else add("tool_calls", additional.find(["tool_calls"], /^\[(?!\])/));
  add("function_call", additional.anything("function_call"));
  additional.skip("tool_calls");
  own.skip("type", "example");
  return members;
}

/** A template that is one text, or a list of examples between two texts. */
function textOfTemplate(
  template: Source,
  kwargs: Source,
  name: string,
  partials: ReadonlyMap<string, string>,
  { complain, place }: Reading,
): Messages {
  template.skip("id");
  if (kwargs.has("template_path")) {
    return void complain(place, "refers to a file by template_path: put its text into template");
  }
  if (name !== "FewShotPromptTemplate") {
    const sole = textOf(kwargs, partials);
    if (sole === undefined) return void complain(place, `${name} has no text and no messages`);
    return [textMessage("user", sole.text, sole.language)];
  }
  const language = languageOf(kwargs), each = kwargs.object("example_prompt", "examplePrompt");
  const pattern = textOf(kwargsOf(each), new Map());
  each.skip("id");
  const examples = kwargs.list("examples").map((example) => valuesOf(example));
  if (pattern === undefined || examples.length === 0) return void complain(place, "has examples that are not in it");
  const separator = kwargs.text("example_separator", "exampleSeparator") || "\n\n";
  const texts = examples.map((values) => fillTemplate(pattern.text, pattern.language, values));
  if (pattern.language !== language) return void complain(place, "has examples in another template language");
  const all = [kwargs.text("prefix"), ...texts, kwargs.text("suffix")].filter((text) => text !== "");
  return [textMessage("user", all.join(separator), language)];
}

/** The members of an example as texts. */
const valuesOf = (example: Source): Map<string, string> =>
  new Map(example.names().map((name) => [name, example.text(name)]));

/** Examples in a chat: the messages of a template for each. */
function readExamples(kwargs: Source, place: string, reading: Reading): Messages {
  const examples = kwargs.list("examples").map(valuesOf), each = kwargs.anything("example_prompt", "examplePrompt");
  skipDerived(kwargs);
  kwargs.skip("template_format", "suffix", "prefix", "example_separator");
  if (examples.length === 0 || each === undefined) {
    return void reading.complain(place, "has examples that are not in it");
  }
  const messages = examples.map((values) => readNested(toSource(each), place, values, reading));
  return messages.includes(undefined) ? undefined : messages.flatMap((list) => list!);
}

/** The messages of a template in a template. */
function readNested(
  template: Source,
  place: string,
  partials: ReadonlyMap<string, string>,
  reading: Reading,
): Messages {
  const name = classOf(template), kwargs = kwargsOf(template);
  skipDerived(kwargs);
  const values = new Map([...partials, ...partialsOf(kwargs)]);
  if (!kwargs.has("messages")) return textOfTemplate(template, kwargs, name, values, reading);
  const messages = kwargs.list("messages").map((message) => readMessage(message, place, values, reading));
  return messages.includes(undefined) ? undefined : messages.flatMap((list) => list!);
}
