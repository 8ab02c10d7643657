// PromptLayer: templates as its API gives them.
import { byTitle, nameOfFile, placeIn, readChat, readObjects, readPlaceholder, soleText, toVersion } from "./reader.ts";
import type { Importer, ReadVersion } from "./reader.ts";
import type { Source } from "../formats/source.ts";
import type { TemplateMessage } from "../formats/messages.ts";
import type { Language } from "../formats/template-logic.ts";

const snippet = /@@@[^@\n]+@@@/;
const kept = ["tools", "tool_choice", "functions", "function_call", "parallel_tool_calls"];

export const readPromptLayer: Importer = (files, options) => {
  const { complain, keepsLogic } = options;
  return byTitle(
    readObjects(files, complain).map(({ file, value }): ReadVersion => {
      const id = value.text("id");
      const title = value.text("prompt_name") || nameOfFile(file), number = value.text("version") || id;
      const place = placeIn(title, number), template = value.object("prompt_template");
      const [link] = snippet.exec(template.json) ?? [];
      if (link !== undefined && !keepsLogic) {
        complain(place, `${link} refers to a snippet: export it with snippets resolved`);
        return { title, version: undefined };
      }
      const chat = template.list("messages"), whole = template.text("template_format");
      const languageOf = (message: Source): Language =>
        (message.text("template_format") || whole) === "jinja2" ? "jinja" : "f-string";
      template.skip("type", "input_variables");
      const messages = chat.length > 0
        ? readChat(chat, languageOf, place, complain, (message) => {
          message.skip("input_variables");
          if (message.text("role") !== "placeholder") return undefined;
          return readPlaceholder(message.text("name") || "history", place, complain);
        })
        : readText(template, languageOf(template), place, complain);
      const model = value.object("metadata").object("model");
      const config = [
        ["provider", model.anything("provider")],
        ["model", model.anything("name")],
        ...model.object("parameters").rest(),
        ...kept.map((name) => [name, template.anything(name)] as const),
      ] as const;
      const labels = value.list("release_labels").map((label) => label.isObject ? label.text("name") : label.ownText());
      return toVersion(value, {
        ...{ title, number, place, messages, config, note: value.text("commit_message") },
        labels: labels.filter((label) => label !== ""),
      }, options);
    }),
  );
};

/** A template for completion: one text. */
function readText(
  template: Source,
  language: Language,
  place: string,
  complain: (place: string, message: string) => void,
): TemplateMessage[] | undefined {
  const content = template.anything("content");
  if (content !== undefined && /^["[]/.test(content)) return [{ role: "user", content: soleText(content), language }];
  return void complain(place, "has no prompt_template with messages or a content");
}
