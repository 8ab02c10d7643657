// OpenAI: files of prompts with their versions, as its guide for leaving prompt objects describes them.
import { listIn, objectIn, readObjects, textIn, toConfig, toMessages, toName } from "./reader.ts";
import type { Importer, Json } from "./reader.ts";
import { byName } from "./versions.ts";

export const readOpenAi: Importer = (files, options) =>
  byName(
    readObjects(files, options.complain).flatMap(({ path, value }) => {
      const id = textIn(value, "openai_prompt_id"), title = textIn(value, "name") || id || path;
      const live = String(value.production_version ?? "");
      return (listIn(value, "versions") as Json[]).map((version) => {
        const number = String(version.version ?? ""), place = `${title} version ${number}`;
        const messages = toMessages(listIn(version, "messages").map(toPlain), "mustache", place, options);
        return {
          name: toName(title),
          version: messages && {
            ...{ number, title, description: "", messages },
            llmConfig: toConfig(objectIn(version, "config"), place, options.complain),
            note: id,
            labels: number !== "" && number === live ? ["production"] : [],
          },
        };
      });
    }),
  );

/** A message of which all parts are texts, with one text. */
function toPlain(message: unknown): unknown {
  const { role, content } = message as { role?: unknown; content?: unknown };
  if (!Array.isArray(content)) return { role, content };
  const texts = content.map((part: Json) =>
    ["input_text", "output_text", "text"].includes(String(part.type)) && part.text
  );
  return { role, content: texts.every((text) => typeof text === "string") ? texts.join("\n") : content };
}
