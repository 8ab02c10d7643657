// Langfuse: the pages or the single answers of its API for prompts.
import { isObject } from "../../schema/struct.ts";
import { byName } from "./versions.ts";
import { listIn, objectIn, readObjects, textIn, toConfig, toLabel, toMessages, toName } from "./reader.ts";
import type { Importer, Json } from "./reader.ts";

/** A reference to another prompt, which Langfuse would put in its place. */
const reference = /@@@langfusePrompt:[^@]*@@@/;

export const readLangfuse: Importer = (files, options) =>
  byName(
    readObjects(files, options.complain).flatMap(({ value }) => {
      const name = toName(textIn(value, "name")), number = String(value.version ?? "");
      const place = `${textIn(value, "name")} version ${number}`;
      const { prompt } = value;
      if (typeof prompt !== "string" && !Array.isArray(prompt)) {
        options.complain(place, "has no content: export each version, not the list alone");
        return [];
      }
      const given = typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt.map(toMessage);
      const [found] = reference.exec(JSON.stringify(given)) ?? [];
      if (found !== undefined && !options.keepsLogic) {
        options.complain(place, `${found} refers to another prompt`);
        return [{ name, version: undefined }];
      }
      const messages = toMessages(given, "mustache", place, options);
      const labels = listIn(value, "labels").filter((label) => label !== "latest").map((label) =>
        toLabel(String(label))
      );
      return [{
        name,
        version: messages && {
          ...{ number, title: textIn(value, "name"), description: "", messages, labels },
          llmConfig: toConfig(objectIn(value, "config"), place, options.complain),
          note: textIn(value, "commitMessage"),
        },
      }];
    }),
  );

/** A placeholder stands for messages that the application puts in. */
const toMessage = (message: unknown): unknown =>
  isObject(message) && message.type === "placeholder"
    ? { role: "placeholder", content: `{{${textIn(message as Json, "name")}}}` }
    : isObject(message)
    ? { role: message.role, content: message.content }
    : message;
