// MLflow: versions of prompts from its registry, as JSON.
import { isObject } from "../../schema/struct.ts";
import { objectIn, readObjects, textIn, toConfig, toLabel, toMessages, toName } from "./reader.ts";
import type { Importer } from "./reader.ts";
import { byName } from "./versions.ts";

export const readMlflow: Importer = (files, options) =>
  byName(
    readObjects(files, options.complain).map(({ path, value }) => {
      const title = textIn(value, "name") || path, number = String(value.version ?? "");
      const place = `${title} version ${number}`;
      const { template, aliases } = value;
      const given = Array.isArray(template) ? template : [{ role: "user", content: template }];
      const language = /\{%/.test(JSON.stringify(given)) ? "jinja" : "mustache";
      const messages = toMessages(given, language, place, options);
      const { provider, model_name: model, ...settings } = objectIn(value, "model_config");
      const config = { provider, model, ...settings, response_format: value.response_format };
      const labels = Array.isArray(aliases) ? aliases.map(String) : isObject(aliases) ? Object.keys(aliases) : [];
      return {
        name: toName(title),
        version: messages && {
          ...{ number, title, description: "", messages },
          llmConfig: toConfig(config, place, options.complain),
          note: textIn(value, "commit_message"),
          labels: labels.map(toLabel),
        },
      };
    }),
  );
