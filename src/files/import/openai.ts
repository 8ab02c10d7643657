// OpenAI: prompts with their versions, as its guide for leaving prompt objects describes them, and bodies of requests.
import { byTitle, nameOfFile, nameUnread, placeIn, readChat, readObjects, toVersion } from "./reader.ts";
import type { Importer } from "./reader.ts";
import { textMessage } from "../messages.ts";

export const readOpenAi: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).flatMap(({ file, value }) => {
      const id = value.text("openai_prompt_id"), title = value.text("name") || id || nameOfFile(file);
      // People look for the id where their code has it.
      const description = value.text("description") || (id === "" ? "" : `OpenAI's prompt ${id}`);
      const live = value.text("production_version"), versions = value.list("versions");
      if (versions.length > 0) {
        const read = versions.map((version) => {
          const number = version.text("version"), place = placeIn(title, number);
          const messages = readChat(version.list("messages"), "mustache", place, options.complain);
          const labels = number !== "" && number === live ? ["production"] : [];
          const config = version.object("config").rest();
          const parts = { title, number, place, description, messages, config, note: id, labels };
          return toVersion(version, parts, options);
        });
        nameUnread(value, title, options.complain);
        return read;
      }
      if (!value.has("messages", "input")) {
        options.complain(title, "has no versions and no messages");
        return [];
      }
      const instructions = value.text("instructions"), input = value.text("input");
      const chat = readChat(value.list("messages", "input"), "mustache", title, options.complain);
      const messages = chat && [
        ...(instructions === "" ? [] : [textMessage("developer", instructions, "mustache")]),
        ...(input === "" ? chat : [textMessage("user", input, "mustache")]),
      ];
      return [
        toVersion(value, { title, place: title, description, messages, note: id, config: value.rest("id") }, options),
      ];
    }),
  );
