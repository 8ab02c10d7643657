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
  toConfig,
  toMessages,
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
        const given = objectsIn(version, "messages").map(({ role, content }) => ({
          role,
          content: joinTexts(content),
        }));
        const messages = toMessages(given, "mustache", place, options);
        const llmConfig = toConfig(objectIn(version, "config"), place, options.complain);
        const labels = number !== "" && number === live ? ["production"] : [];
        return { title, order: Number(number), version: messages && { number, messages, llmConfig, note, labels } };
      });
    }),
  );
