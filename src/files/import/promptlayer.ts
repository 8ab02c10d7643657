// PromptLayer: templates as its API gives them.
import { isObject } from "../../schema/struct.ts";
import { byTitle, joinTexts, leaveOut, listIn, numberIn, objectIn, objectsIn } from "./reader.ts";
import { placeIn, readObjects, textIn, textOf, toLabel, toVersion } from "./reader.ts";
import type { Importer, Json } from "./reader.ts";
import type { Language } from "../template-logic.ts";

const snippet = /@@@[^@\n]+@@@/;

export const readPromptLayer: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).map(({ path, value }) => {
      const title = textIn(value, "prompt_name") || path, number = numberIn(value, "version") || numberIn(value, "id");
      const place = placeIn(title, number);
      const template = objectIn(value, "prompt_template"), given = objectsIn(template, "messages");
      const all = (given.length > 0 ? given : [{ role: "user", content: template.content }]).map(toMessage);
      leaveOut(value, ["tags"], place, options.complain);
      const [found] = snippet.exec(JSON.stringify(all)) ?? [];
      if (found !== undefined && !options.keepsLogic) {
        options.complain(place, `${found} refers to a snippet: export it with snippets resolved`);
        return { title, version: undefined };
      }
      const format = textIn(given[0] ?? {}, "template_format") || textIn(template, "template_format");
      const language: Language = format === "jinja2" ? "jinja" : "f-string";
      const model = objectIn(objectIn(value, "metadata"), "model");
      const config = { provider: model.provider, model: model.name, ...objectIn(model, "parameters") };
      const note = textIn(value, "commit_message");
      const labels = listIn(value, "release_labels").map((label) =>
        toLabel(textOf(isObject(label) ? label.name : label))
      );
      return toVersion({ title, number, place, messages: all, language, config, note, labels }, options);
    }),
  );

/** A placeholder stands for messages. Any other message has a text or parts. */
const toMessage = ({ role, content, name }: Json): Json =>
  role === "placeholder"
    ? { role, content: `{{${textOf(name) || "history"}}}` }
    : { role, content: joinTexts(content) };
