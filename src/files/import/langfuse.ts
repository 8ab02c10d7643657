// Langfuse: the pages or the single answers of its API for prompts, or its export as a file.
import { byTitle, nameOfFile, placeIn, readChat, readObjects, readPlaceholder, toVersion } from "./reader.ts";
import type { Importer, ReadVersion } from "./reader.ts";
import { textMessage } from "../formats/messages.ts";

/** A reference to another prompt, which Langfuse would replace with it. */
const reference = /@@@langfusePrompt:[^@]*@@@/;

export const readLangfuse: Importer = (files, options) => {
  const { complain, keepsLogic } = options;
  return byTitle(
    readObjects(files, complain).flatMap(({ file, value }): ReadVersion[] => {
      const title = value.text("name") || nameOfFile(file), number = value.text("version");
      const place = placeIn(title, number), prompt = value.anything("prompt") ?? "";
      if (!/^["[]/.test(prompt)) {
        complain(place, "has no prompt that is a text or a list: export each version, not the list alone");
        return [];
      }
      const [link] = reference.exec(prompt) ?? [];
      if (link !== undefined && !keepsLogic) {
        complain(place, `${link} refers to another prompt`);
        return [{ title, version: undefined }];
      }
      value.skip("type");
      const messages = prompt.startsWith('"')
        ? [textMessage("user", JSON.parse(prompt) as string, "mustache")]
        : readChat(value.list("prompt"), "mustache", place, complain, (message) => {
          // A placeholder stands for messages that the application gives.
          const type = message.find(["type"], /^"(?:placeholder|chatmessage|message)"$/);
          if (type !== '"placeholder"') return undefined;
          return readPlaceholder(message.text("name"), place, complain);
        });
      const labels = value.texts("labels").filter((label) => label !== "latest");
      return [toVersion(value, {
        ...{ title, number, place, messages, labels, note: value.text("commitMessage") },
        config: value.object("config").rest(),
      }, options)];
    }),
  );
};
