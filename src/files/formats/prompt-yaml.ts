// `.prompt.yml`: files of GitHub Models, and those of LangWatch, which have a handle and a scope.
import { jsonText, stringifyMembers } from "../../common/json-text.ts";
import type { FileContent } from "./content.ts";
import { modelMembers } from "./dotprompt.ts";
import type { Report } from "./faults.ts";
import { normalize } from "./head.ts";
import { writeMessages } from "./messages.ts";
import type { TemplateMessage } from "./messages.ts";
import { texts } from "./prompty.ts";
import type { ReadOptions } from "./prompty.ts";
import { joinMembers, readYamlSource, reportUnread } from "./source.ts";

/** Reads `.prompt.yml`. */
export function readPromptYaml(source: string, report: Report, options: ReadOptions = {}): FileContent | undefined {
  const yaml = readYamlSource(normalize(source), 0, report);
  if (yaml === undefined) return undefined;
  const { value, offsetOf } = yaml;
  const title = value.text("name") || value.text("handle"), description = value.text("description");
  const members = [
    ...modelMembers(value.text("model")),
    ...value.object("modelParameters").rest(),
    ...["responseFormat", "jsonSchema", "response_format"].map((name) => [name, value.anything(name)] as const),
  ];
  const config = joinMembers(members, (message) => report(offsetOf(["modelParameters"]), message, true));
  let isGood = true;
  const refuse = (path: string[], message: string): undefined => {
    report(offsetOf(path), message);
    isGood = false;
  };
  const list = value.list("messages");
  if (list.length === 0) refuse(["messages"], "Field messages must be a list of messages with a role and a text");
  const messages = list.map((item, nth): TemplateMessage | undefined => {
    const path = ["messages", String(nth)], number = nth + 1;
    if (!item.isObject) return refuse(path, `Message ${number} must be a mapping with a role and a content`);
    const role = item.find(["role"], /^"(?!"$)/), content = item.find(["content"], /^["[]/);
    if (role === undefined) return refuse([...path, "role"], `Message ${number} must have a role that is a text`);
    if (content === undefined) {
      return refuse([...path, "content"], `Message ${number} must have a content that is a text`);
    }
    return { role: JSON.parse(role) as string, content, members: item.rest(), language: "mustache" };
  });
  const messagesWritten = isGood && !messages.includes(undefined)
    ? writeMessages(
      messages as TemplateMessage[],
      (nth) => (_, message, isWarning) => report(offsetOf(["messages", String(nth), "content"]), message, isWarning),
      options,
    )
    : undefined;
  reportUnread(yaml, report);
  return messagesWritten && {
    ...texts({ title, description }),
    messages: messagesWritten,
    llmConfig: jsonText(stringifyMembers(config)),
  };
}
