// MLflow: versions of prompts from its registry, as JSON.
import { isObject } from "../../schema/struct.ts";
import { byTitle, leaveOut, numberIn, objectIn, placeIn, readObjects, textIn, toLabel, toVersion } from "./reader.ts";
import type { Importer } from "./reader.ts";

export const readMlflow: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).map(({ path, value }) => {
      const title = textIn(value, "name") || path, number = numberIn(value, "version");
      const place = placeIn(title, number);
      const { template } = value;
      leaveOut(value, ["tags"], place, options.complain);
      const given = Array.isArray(template) ? template : [{ role: "user", content: template }];
      const language = /\{%/.test(JSON.stringify(given)) ? "jinja" : "mustache";
      const { provider, model_name: model, ...settings } = objectIn(value, "model_config");
      const config = { provider, model, ...settings, response_format: value.response_format };
      const labels = aliasesIn(value.aliases, number).map(toLabel), note = textIn(value, "commit_message");
      return toVersion({ title, number, place, messages: given, language, config, note, labels }, options);
    }),
  );

/** The aliases of a version: texts, or as its registry has them for all versions, objects or members with a version. */
function aliasesIn(aliases: unknown, number: string): string[] {
  const all: unknown[] = Array.isArray(aliases)
    ? aliases
    : Object.entries(isObject(aliases) ? aliases : {}).map(([alias, version]) => ({ alias, version }));
  return all.flatMap((each) => {
    if (!isObject(each)) return typeof each === "string" ? [each] : [];
    return numberIn(each, "version") === number ? [textIn(each, "alias")] : [];
  });
}
