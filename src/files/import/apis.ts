// Tools whose APIs give a prompt or a version of one as a JSON object of their own.
import { parseJson, stringify } from "../../common/json-text.ts";
import { isObject } from "../../schema/struct.ts";
import { splitHead } from "../formats/head.ts";
import type { DeclaredVariable } from "../formats/declarations.ts";
import { modelMembers } from "../formats/dotprompt.ts";
import { textMessage } from "../formats/messages.ts";
import type { TemplateMessage } from "../formats/messages.ts";
import { readYamlSource, toSource } from "../formats/source.ts";
import type { Source } from "../formats/source.ts";
import type { Language } from "../formats/template-logic.ts";
import { byTitle, nameOfFile, placeIn, readChat, readObjects, soleText, toVersion } from "./reader.ts";
import type { Complain, Importer, ImportOptions, Item, ReadVersion, VersionParts } from "./reader.ts";

/** The parts of a version in an object, without those that follow from its title and number. */
type Reading = Omit<VersionParts, "title" | "place" | "messages"> & {
  title: string;
  messages(place: string): readonly TemplateMessage[] | undefined;
};

/** An importer of objects that each are one version. */
const importEach = (read: (value: Source, file: string, complain: Complain) => Reading): Importer => (files, options) =>
  byTitle(
    readObjects(files, options.complain).map((item) =>
      toRead(item, read(item.value, nameOfFile(item.file), options.complain), options)
    ),
  );

function toRead({ value }: Item, { messages, ...parts }: Reading, options: ImportOptions): ReadVersion {
  const place = placeIn(parts.title, parts.number ?? "");
  return toVersion(value, { ...parts, place, messages: messages(place) }, options);
}

/** The messages of a member that is a text, a list of messages, or JSON of one of them in a text. */
function chatIn(
  value: Source,
  names: string[],
  language: Language,
  place: string,
  complain: Complain,
  read?: (message: Source) => TemplateMessage | undefined,
): readonly TemplateMessage[] | undefined {
  const list = value.list(...names);
  if (list.length > 0) return readChat(list, language, place, complain, read);
  const text = value.find(names, /^"/);
  if (text === undefined) {
    return void complain(place, `has no ${names.join(" or ")} that is a text or a list of messages`);
  }
  const own = JSON.parse(text) as string;
  if (/^\s*\[/.test(own) && Array.isArray(parseJson(own))) {
    const inner = toSource(`{"messages":${own.trim()}}`);
    const messages = readChat(inner.list("messages"), language, place, complain, read);
    for (const path of inner.takeUnread()) complain(place, `${path.join(".")} is left out`, true);
    return messages;
  }
  return [textMessage("user", own, language)];
}

const languages: Record<string, Language> = {
  ...{ mustache: "mustache", MUSTACHE: "mustache", curly: "mustache", default: "mustache", liquid: "jinja" },
  ...{
    jinja2: "jinja",
    jinja: "jinja",
    JINJA2: "jinja",
    F_STRING: "f-string",
    fstring: "f-string",
    python: "f-string",
  },
  ...{ NONE: "plain", none: "plain" },
};
const languageIn = (value: Source, name: string): Language => {
  const own = value.text(name);
  return Object.hasOwn(languages, own) ? languages[own]! : "mustache";
};

/** The number in an id of Phoenix, which is Base64 of `PromptVersion:3`. */
const numberInId = (id: string): number =>
  /^[\w+/]+=*$/.test(id) && id.length % 4 === 0 ? Number(/:(\d+)$/.exec(atob(id))?.[1]) : NaN;

/** Phoenix: `GET /v1/prompts/NAME/versions`. */
export const readPhoenix = importEach((value, file, complain) => {
  const id = value.text("id"),
    order = numberInId(id),
    language = languageIn(value, "template_format"),
    template = value.object("template");
  template.skip("type");
  value.skip("template_type");
  const invocation = value.object("invocation_parameters"), kind = invocation.text("type");
  const tools = value.object("tools");
  if (tools.text("type") !== "tools") tools.skip("type");
  const list = tools.list("tools").map((tool) => {
    if (tool.text("type") === "raw") return tool.anything("raw") ?? "{}";
    tool.rest();
    return tool.json;
  });
  return {
    title: value.text("name") || file.replace(/-versions?$/, ""),
    number: Number.isNaN(order) ? id : String(order),
    order,
    description: value.text("description"),
    config: [
      ["provider", lower(value.anything("model_provider"))],
      ["model", value.anything("model_name")],
      ...invocation.object(kind || "none").rest(),
      ["tools", list.length === 0 ? undefined : `[${list.join(",")}]`],
      ["tool_choice", tools.anything("tool_choice")],
      ["disable_parallel_tool_calls", tools.anything("disable_parallel_tool_calls")],
      ["response_format", value.anything("response_format")],
    ],
    messages: (place) =>
      chatIn(
        template,
        template.has("messages") ? ["messages"] : ["template"],
        language,
        place,
        complain,
        phoenixMessage(language),
      ),
  };
});

const lower = (json: string | undefined): string | undefined => json?.toLowerCase();
const phoenixRoles: Record<string, string> = { ai: "assistant", model: "assistant" };

/** A message of Phoenix in the form of the Chat Completions API: calls of tools stand among its parts there. */
const phoenixMessage = (language: Language) => (message: Source): TemplateMessage | undefined => {
  const own = message.text("role"), role = phoenixRoles[own] ?? own, parts = message.list("content");
  if (role === "") return undefined;
  if (parts.length === 0) {
    const content = message.find(["content"], /^"/);
    return content === undefined ? undefined : { role, content, language, members: message.rest() };
  }
  const texts: string[] = [], calls: string[] = [], members: [string, string][] = [];
  for (const part of parts) {
    const type = part.text("type");
    if (type === "tool_call") {
      const id = part.text("tool_call_id"), call = part.object("tool_call");
      call.skip("type");
      const called = { name: call.text("name"), arguments: call.text("arguments") };
      calls.push(JSON.stringify({ id, type: "function", function: called }));
    } else if (type === "tool_result") {
      members.push(["tool_call_id", JSON.stringify(part.text("tool_call_id"))]);
      const result = part.anything("tool_result") ?? '""';
      texts.push(`{"type":"text","text":${result.startsWith('"') ? result : JSON.stringify(result)}}`);
    } else {
      texts.push(part.json);
      part.rest();
    }
  }
  if (calls.length > 0) members.push(["tool_calls", `[${calls.join(",")}]`]);
  const content = texts.length === 0 ? '""' : soleText(`[${texts.join(",")}]`);
  return { role, content, language, members: [...members, ...message.rest()] };
};

/** Portkey: `GET /v1/prompts/ID`. */
export const readPortkey = importEach((value, file, complain) => {
  const metadata = value.object("template_metadata", "prompt_metadata");
  value.skip("object", "status", "prompt_version_status");
  return {
    title: value.text("name") || value.text("slug") || file,
    number: value.text("prompt_version", "version"),
    note: value.text("prompt_version_description", "version_description"),
    config: [
      ["provider", metadata.anything("provider")],
      ["model", value.anything("model")],
      ...value.object("parameters").rest("messages"),
      ...["tools", "functions", "tool_choice"].map((name) => [name, value.anything(name)] as const),
    ],
    messages: (place) => {
      const parameters = value.object("parameters");
      if (!value.has("string") && parameters.has("messages")) {
        return chatIn(parameters, ["messages"], "mustache", place, complain);
      }
      return chatIn(value, ["string"], "mustache", place, complain);
    },
  };
});

/** PostHog: `GET /api/projects/ID/llm_prompts`. */
export const readPostHog = importEach((value, file, complain) => {
  value.skip("is_latest", "latest_version", "version_count", "first_version_created_at");
  return {
    title: value.text("name") || file,
    number: value.text("version"),
    labels: value.texts("labels").filter((label) => label !== "latest"),
    messages: (place) => {
      const whole = value.object("prompt");
      const inner = whole.has("messages", "prompt", "content") ? whole : value;
      return chatIn(
        inner,
        inner === value ? ["prompt"] : ["messages", "prompt", "content"],
        "mustache",
        place,
        complain,
      );
    },
  };
});

/** Opik: `GET /v1/private/prompts/ID`, or its versions. */
export const readOpik = importEach((value, file, complain) => {
  const inner = ["requested_version", "requestedVersion", "latest_version", "latestVersion"].find((name) =>
    value.has(name)
  );
  const version = inner === undefined ? value : value.object(inner);
  value.skip("template_structure", "templateStructure", "version_count", "versionCount");
  version.skip("variables", "template_structure", "templateStructure");
  const language = languageIn(version, "type"), number = version.text("commit", "version_number");
  return {
    title: value.text("name") || file,
    number,
    order: Date.parse(version.text("created_at", "createdAt")),
    description: value.text("description"),
    note: version.text("change_description", "changeDescription"),
    config: version.object("metadata").rest(),
    messages: (place) => chatIn(version, ["template"], language, place, complain),
  };
});

/** Agenta: `POST /api/variants/configs/fetch`, or revisions of applications. */
export const readAgenta = importEach((whole, file, complain) => {
  const value = whole.has("application_revision") ? whole.object("application_revision") : whole;
  whole.skip("count");
  const data = value.object("data"), params = value.has("params") ? value.object("params") : data.object("parameters");
  const prompt = params.object("prompt"), model = prompt.object("llm_config");
  prompt.skip("input_keys");
  // Its API has these in objects, and its SDK as members.
  const [appRef, ref, environment] = ["application_ref", "variant_ref", "environment_ref"].map((name) =>
    value.object(name)
  ) as [Source, Source, Source];
  for (const each of [appRef, ref, environment]) each.skip("id", "version");
  const app = value.text("app_slug", "application_slug") || appRef.text("slug") || file;
  const variant = value.text("variant_slug", "slug") || ref.text("slug");
  const label = value.text("environment_slug") || environment.text("slug");
  const own = variant.replace(`${app}.`, ""), language = languageIn(prompt, "template_format");
  return {
    title: own === "" || own === "default" ? app : `${app}/${own}`,
    number: value.text("variant_version", "version") || ref.text("version"),
    note: value.text("message", "commit_message") || ref.text("commit_message"),
    labels: label === "" ? [] : [label],
    config: [
      ...model.rest(),
      ...["fallback_configs", "fallback_policy", "retry_config", "retry_policy"].map((name) =>
        [name, prompt.anything(name)] as const
      ),
    ],
    messages: (place) => chatIn(prompt, ["messages"], language, place, complain),
  };
});

/** LangWatch: `GET /api/prompts/ID`. Its files are read as `.prompt.yml`. */
export const readLangWatch = importEach((value, file, complain) => {
  value.skip("scope");
  const [, provider, model] = /^([^/]+)\/(.+)$/s.exec(value.text("model")) ?? [];
  const declared = new Map<string, DeclaredVariable>(
    value.list("inputs").map((input) => [input.text("identifier"), { type: input.text("type") }]),
  );
  const text = value.text("prompt"), id = value.text("versionId");
  // Each version has the tags of all versions.
  const tags = value.list("tags").map((tag) => ({ name: tag.text("name"), id: tag.text("versionId") }));
  return {
    title: value.text("handle", "name") || file,
    number: value.text("version"),
    note: value.text("commitMessage"),
    labels: tags.filter((tag) => tag.id === id && !["", "latest"].includes(tag.name)).map(({ name }) => name),
    declared,
    config: [
      ["provider", provider && JSON.stringify(provider)],
      ["model", model === undefined ? value.anything("model") : JSON.stringify(model)],
      ["temperature", value.anything("temperature")],
      ["max_tokens", value.anything("maxTokens", "max_tokens")],
      ["response_format", value.anything("responseFormat", "response_format")],
      ["parameters", value.anything("parameters")],
    ],
    messages: (place) => {
      const messages = value.has("messages") && value.list("messages").length > 0
        ? readChat(value.list("messages"), "jinja", place, complain)
        : [];
      // The text of a prompt there is its first message of the system.
      const isRepeated = messages?.some(({ role, content }) => role === "system" && content === JSON.stringify(text));
      if (messages === undefined || text === "" || isRepeated) return messages;
      return [textMessage("system", text, "jinja"), ...messages];
    },
  };
});

/** Humanloop: `GET /v5/prompts/ID`. Its files are read as `.prompt`. */
export const readHumanloop = importEach((value, file, complain) => {
  value.skip("type", "raw_file_content");
  for (const input of value.list("inputs")) input.skip("name");
  const language = languageIn(value, "template_language");
  const labels = value.list("environments").map((environment) => {
    environment.skip("id", "tag", "created_at");
    return environment.text("name");
  });
  return {
    title: (value.text("path", "name") || file).replace(/\.prompt$/, ""),
    number: value.text("version_name", "version_id"),
    description: value.text("description"),
    note: value.text("version_description", "commit_message"),
    labels: labels.filter((label) => label !== ""),
    order: Date.parse(value.text("created_at")),
    config: [
      ...[
        ...["provider", "model", "endpoint", "temperature", "max_tokens", "top_p", "stop", "presence_penalty"],
        ...["frequency_penalty", "seed", "response_format", "reasoning_effort", "tools"],
      ].map((name) => [name, value.anything(name)] as const),
      ...value.object("other").rest(),
    ],
    messages: (place) => chatIn(value, ["template"], language, place, complain),
  };
});

/** Helicone: prompts with their body, as its API takes and gives them. */
export const readHelicone = importEach((value, file, complain) => {
  const body = value.object("prompt_body", "promptBody", "body");
  const major = value.text("major_version"), minor = value.text("minor_version"), label = value.text("environment");
  return {
    title: value.text("name") || value.text("prompt_id") || file,
    number: major === "" ? "" : `${major}.${minor || "0"}`,
    order: major === "" ? undefined : Number(major) * 1e6 + Number(minor || 0),
    note: value.text("commit_message"),
    labels: label === "" ? [] : [label],
    config: body.rest("messages"),
    messages: (place) => chatIn(body, ["messages"], "helicone", place, complain),
  };
});

/** LiteLLM: rows of its table of prompts, whose content is front matter and lines such as `User: …`. */
export const readLiteLlm = importEach((whole, file, complain) => {
  const value = whole.has("prompt_spec") ? whole.object("prompt_spec") : whole;
  // Rows of its table may have these as texts of JSON.
  const texts = new Map<string, Source>();
  const [params, info] = ["litellm_params", "prompt_info"].map((name) => {
    const text = value.find([name], /^"/), inner = text && parseJson(JSON.parse(text) as string);
    if (!isObject(inner)) return value.object(name);
    const source = toSource(stringify(inner));
    texts.set(`${name}.`, source);
    return source;
  }) as [Source, Source];
  const title = value.text("prompt_id") || params.text("prompt_id") || file, content = contentOf(whole, params);
  params.skip("prompt_id", "prompt_integration");
  info.skip("prompt_type");
  const number = value.text("version") || /\.v(\d+)$/.exec(title)?.[1] || "";
  const report = (_: number, message: string, isWarning?: boolean) => complain(title, message, isWarning);
  const head = content === undefined ? undefined : splitHead(content, report);
  const yaml = head && readYamlSource(head.yaml, 0, report);
  const label = value.text("environment") || info.text("environment");
  return {
    title: title.replace(/\.v\d+$/, ""),
    number,
    labels: label === "" ? [] : [label],
    config: yaml === undefined ? [] : [...modelMembers(yaml.value.text("model")), ...yaml.value.rest("input")],
    messages: (place) => {
      if (content === undefined) complain(place, "has no dotprompt_content");
      if (yaml !== undefined) texts.set("", yaml.value);
      for (const [name, source] of texts) {
        for (const path of source.takeUnread()) complain(place, `${name}${path.join(".")} is left out`, true);
      }
      return head && yaml && readTurns(head.body);
    },
  };
});

/** The content of a row: as it was sent, or in its parts. */
function contentOf(whole: Source, params: Source): string | undefined {
  const own = params.find(["dotprompt_content"], /^"/);
  if (own !== undefined) {
    whole.skip("raw_prompt_template");
    return JSON.parse(own) as string;
  }
  const data = whole.has("raw_prompt_template") ? whole.object("raw_prompt_template") : params.object("prompt_data");
  const text = data.find(["content"], /^"/), metadata = data.find(["metadata"], /^\{/) ?? "{}";
  data.skip("litellm_prompt_id");
  // JSON is YAML.
  return text === undefined ? undefined : `---\n${metadata}\n---\n${JSON.parse(text) as string}`;
}

const turn = /^(System|User|Assistant|Developer):[ \t]*/;

/** The messages of a text in which a line begins each with its role. Without one, all of it is of the user. */
function readTurns(body: string): TemplateMessage[] {
  const turns: { role: string; lines: string[] }[] = [];
  for (const line of body.trim().split("\n")) {
    const [start, role] = turn.exec(line) ?? [];
    if (role !== undefined) turns.push({ role: role.toLowerCase(), lines: [line.slice(start!.length)] });
    else if (turns.length === 0) turns.push({ role: "user", lines: [line] });
    else turns.at(-1)!.lines.push(line);
  }
  return turns.map(({ role, lines }) => textMessage(role, lines.join("\n").trim(), "jinja"));
}
