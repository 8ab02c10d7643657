// PromptLayer: templates as its API gives them.
import { isObject } from "../../schema/struct.ts";
import { listIn, objectIn, readObjects, textIn, toConfig, toLabel, toMessages, toName } from "./reader.ts";
import type { Importer, Json } from "./reader.ts";
import { byName } from "./versions.ts";
import type { Language } from "../template-logic.ts";

const snippet = /@@@[^@\n]+@@@/;

export const readPromptLayer: Importer = (files, options) =>
  byName(
    readObjects(files, options.complain).flatMap(({ path, value }) => {
      const title = textIn(value, "prompt_name") || path, number = String(value.version ?? value.id ?? "");
      const place = `${title} version ${number}`;
      const template = objectIn(value, "prompt_template"), given = listIn(template, "messages");
      const all = given.length > 0
        ? given.map(toMessage)
        : [{ role: "user", content: template.content }].map(toMessage);
      const [found] = snippet.exec(JSON.stringify(all)) ?? [];
      if (found !== undefined && !options.keepsLogic) {
        options.complain(place, `${found} refers to a snippet: export it with snippets resolved`);
        return [{ name: toName(title), version: undefined }];
      }
      const format = textIn(given[0] as Json ?? {}, "template_format") || textIn(template, "template_format");
      const language: Language = format === "jinja2" ? "jinja" : "f-string";
      const messages = toMessages(all, language, place, options);
      const model = objectIn(objectIn(value, "metadata"), "model");
      const config = { provider: model.provider, model: model.name, ...objectIn(model, "parameters") };
      return [{
        name: toName(title),
        version: messages && {
          ...{ number, title, description: "", messages },
          llmConfig: toConfig(config, place, options.complain),
          note: textIn(value, "commit_message"),
          labels: listIn(value, "release_labels").map((label) => toLabel(String(isObject(label) ? label.name : label))),
        },
      }];
    }),
  );

/** A message of which all parts are texts, with one text. A placeholder stands for messages. */
function toMessage(message: unknown): unknown {
  const { role, content, name } = message as Json;
  if (role === "placeholder") return { role, content: `{{${String(name ?? "history")}}}` };
  if (!Array.isArray(content)) return { role, content };
  const texts = (content as Json[]).map(({ type, text }) => type === "text" ? text : undefined);
  return { role, content: texts.every((text) => typeof text === "string") ? texts.join("\n") : content };
}
