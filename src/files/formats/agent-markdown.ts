// Markdown of coding agents: `.prompt.md`, `.agent.md`, `.chatmode.md` and `.instructions.md` of editors, and SKILL.md.
import { jsonText, stringifyMembers } from "../../common/json-text.ts";
import type { FileContent } from "./content.ts";
import { modelMembers } from "./dotprompt.ts";
import type { Report } from "./faults.ts";
import { splitHead } from "./head.ts";
import { textMessage, writeMessages } from "./messages.ts";
import { texts } from "./prompty.ts";
import type { ReadOptions } from "./prompty.ts";
import { joinMembers, readYamlSource, reportUnread } from "./source.ts";

const filledByEditor = /\$\{(?:selection|selectedText|(?:file|workspaceFolder)\w*)\}/;

/** Reads the Markdown of an agent: all of it is one message, of the user in a `.prompt.md`, and of the system elsewhere. */
export const readAgentMarkdown =
  (isPrompt: boolean) => (source: string, report: Report, options: ReadOptions = {}): FileContent | undefined => {
    const head = splitHead(source, report);
    if (head === undefined) return undefined;
    const yaml = readYamlSource(head.yaml, head.start, report);
    if (yaml === undefined) return undefined;
    const { value } = yaml, title = value.text("name"), description = value.text("description");
    const members = [...modelMembers(value.text("model")), ["tools", value.anything("tools")] as const];
    const config = joinMembers(members, (message) => report(head.start, message, true));
    const lead = head.body.length - head.body.trimStart().length, body = head.body.trim();
    if (body === "") return void report(head.bodyStart, "The file has no text");
    const context = isPrompt ? filledByEditor.exec(body) : null;
    if (context !== null) {
      const message = `${context[0]} is filled in by the editor alone, so that it is a text here`;
      report(head.bodyStart + lead + context.index, message, true);
    }
    const messages = writeMessages(
      [textMessage(isPrompt ? "user" : "system", body, "editor")],
      () => (offset, message, isWarning) => report(head.bodyStart + lead + offset, message, isWarning),
      options,
    );
    reportUnread(yaml, report);
    return messages && { ...texts({ title, description }), messages, llmConfig: jsonText(stringifyMembers(config)) };
  };
