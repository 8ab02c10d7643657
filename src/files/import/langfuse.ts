// Langfuse: the pages or the single answers of its API for prompts.
import { isObject } from "../../schema/struct.ts";
import { byTitle, leaveOut, listIn, numberIn, objectIn, placeIn } from "./reader.ts";
import { readObjects, textIn, toLabel, toVersion } from "./reader.ts";
import type { Importer, ReadVersion } from "./reader.ts";

/** A reference to another prompt, which Langfuse would put in its place. */
const reference = /@@@langfusePrompt:[^@]*@@@/;

export const readLangfuse: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).flatMap(({ path, value }): ReadVersion[] => {
      const title = textIn(value, "name") || path, number = numberIn(value, "version");
      const place = placeIn(title, number);
      const { prompt } = value;
      if (typeof prompt !== "string" && !Array.isArray(prompt)) {
        options.complain(place, "has no content: export each version, not the list alone");
        return [];
      }
      leaveOut(value, ["tags"], place, options.complain);
      const given = typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt.map(toMessage);
      const [found] = reference.exec(JSON.stringify(given)) ?? [];
      if (found !== undefined && !options.keepsLogic) {
        options.complain(place, `${found} refers to another prompt`);
        return [{ title, version: undefined }];
      }
      const labels = listIn(value, "labels").map(String).filter((label) => label !== "latest").map(toLabel);
      const known = { title, number, place, messages: given, note: textIn(value, "commitMessage"), labels };
      return [toVersion({ ...known, language: "mustache", config: objectIn(value, "config") }, options)];
    }),
  );

/** A placeholder stands for messages that the application puts in. */
function toMessage(message: unknown): unknown {
  if (!isObject(message)) return message;
  if (message.type === "placeholder") return { role: "placeholder", content: `{{${textIn(message, "name")}}}` };
  return { role: message.role, content: message.content };
}
