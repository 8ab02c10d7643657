// OpenAI: files of prompts with their versions, as its guide for leaving prompt objects describes them.
import {
  byTitle,
  joinTexts,
  numberIn,
  objectIn,
  objectsIn,
  placeIn,
  readObjects,
  textIn,
  toVersion,
} from "./reader.ts";
import type { Importer } from "./reader.ts";

export const readOpenAi: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).flatMap(({ path, value }) => {
      const note = textIn(value, "openai_prompt_id"), title = textIn(value, "name") || note || path;
      const live = numberIn(value, "production_version"), versions = objectsIn(value, "versions");
      if (versions.length === 0) options.complain(title, "has no versions");
      return versions.map((version) => {
        const number = numberIn(version, "version"), place = placeIn(title, number);
        const messages = objectsIn(version, "messages").map(({ role, content }) => ({
          role,
          content: joinTexts(content),
        }));
        const config = objectIn(version, "config");
        const labels = number !== "" && number === live ? ["production"] : [];
        return toVersion({ title, number, place, messages, language: "mustache", config, note, labels }, options);
      });
    }),
  );
