// MLflow: versions of prompts from its registry, as JSON, or as mlflow-export-import writes them.
import type { Source } from "../formats/source.ts";
import { byTitle, nameOfFile, placeIn, readChat, readObjects, toVersion } from "./reader.ts";
import type { Importer, ReadVersion } from "./reader.ts";
import { textMessage } from "../formats/messages.ts";

export const readMlflow: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).flatMap(({ file, value: whole }): ReadVersion[] => {
      const wrapped = whole.object("mlflow").object("prompt");
      const value = wrapped.names().length > 0 ? wrapped : whole;
      const title = value.text("name") || nameOfFile(file), number = value.text("version");
      const place = placeIn(title, number), template = value.anything("template") ?? "";
      if (!/^["[]/.test(template)) {
        options.complain(place, "has no template that is a text or a list");
        return [];
      }
      const language = /\{%/.test(template) ? "jinja" : "mustache";
      const messages = template.startsWith('"')
        ? [textMessage("user", JSON.parse(template) as string, language)]
        : readChat(value.list("template"), language, place, options.complain);
      const model = value.object("model_config");
      const config = [
        ["provider", model.anything("provider")],
        ["model", model.anything("model_name")],
        ...model.rest(),
        ["response_format", value.anything("response_format")],
      ] as const;
      const labels = aliasesIn(value, number), note = value.text("commit_message");
      whole.skip("system");
      return [toVersion(whole, { title, number, place, messages, config, note, labels }, options)];
    }),
  );

/** The aliases of a version: texts, or as its registry has them for all versions, objects or members with a version. */
function aliasesIn(value: Source, number: string): string[] {
  const ofVersions = value.object("aliases");
  const named = ofVersions.names().filter((alias) => ofVersions.text(alias) === number);
  const listed = value.list("aliases").flatMap((each) => {
    if (!each.isObject) return [each.ownText()];
    const alias = each.text("alias");
    return each.text("version") === number ? [alias] : [];
  });
  return [...named, ...listed].filter((alias) => alias !== "");
}
