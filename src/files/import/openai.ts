// OpenAI: prompts with their versions, as its guide for leaving prompt objects describes them, bodies of requests, and Responses,
// which have the instructions of the prompt that was asked for.
import { byTitle, nameOfFile, nameUnread, placeIn, readChat, readObjects, toVersion } from "./reader.ts";
import type { Importer } from "./reader.ts";
import { textMessage } from "../formats/messages.ts";
import type { Source } from "../formats/source.ts";

/** The id of a prompt. Other ids are not read. */
const pmptOf = (value: Source): string => JSON.parse(value.find(["id"], /^"pmpt_/) ?? '""') as string;

/** Members that a Response repeats from its request. */
const ofRequest = ["model", "tools", "tool_choice", "text", "reasoning", "temperature", "top_p", "max_output_tokens"];

export const readOpenAi: Importer = (files, options) =>
  byTitle(
    readObjects(files, options.complain).flatMap(({ file, value }) => {
      const prompt = value.object("prompt");
      const id = value.text("openai_prompt_id") || pmptOf(value) || pmptOf(prompt);
      const title = value.text("name") || id || nameOfFile(file);
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
      const isResponse = value.text("object") === "response";
      if (!value.has("messages", "input", "instructions")) {
        options.complain(title, "has no versions and no messages");
        return [];
      }
      const number = prompt.text("version"), place = placeIn(title, number);
      const instructions = value.find(["instructions"], /^"/), input = value.find(["input"], /^"/);
      const chat = readChat(
        [...value.list("instructions"), ...value.list("messages", "input")],
        "mustache",
        place,
        options.complain,
      );
      const messages = chat && [
        ...(instructions === undefined
          ? []
          : [textMessage("developer", JSON.parse(instructions) as string, "mustache")]),
        ...(input === undefined ? chat : [textMessage("user", JSON.parse(input) as string, "mustache")]),
      ];
      const config = isResponse
        ? ofRequest.map((name) => [name, value.anything(name)] as const)
        : value.rest("id", "prompt");
      return [toVersion(value, { title, number, place, description, messages, note: id, config }, options)];
    }),
  );
