// The content of a version: its messages with their variables lit up, and the settings of its model.
import { indent } from "../../common/json-text.ts";
import { findPlaceholders } from "../../common/template.ts";
import type { PromptContent } from "../../management/prompt-text.ts";
import { variablesOf } from "../../management/prompt-text.ts";
import { readMessages } from "../conversation.ts";
import type { Message } from "../conversation.ts";
import { markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { chip, chips } from "./chips.ts";

/** Messages and settings as they are served. */
export function contentView({ messages, llmConfig }: Pick<PromptContent, "messages" | "llmConfig">): Html {
  const variables = variablesOf(messages);
  return markup`${messagesView(readMessages(messages.text))}<dl class="facts"><div><dt>Variables</dt><dd>${
    variables.length === 0 ? "None" : chips(variables.map((name) => chip(markup`<code>${name}</code>`)))
  }</dd></div></dl><h3>Model settings</h3><pre class="panel mono">${indent(llmConfig.text)}</pre>`;
}

/** Messages one below the other. */
export const messagesView = (messages: readonly Message[]): Part =>
  messages.map(({ role, content, more }) =>
    markup`<article class="message ${kindOf(role)}"><h3>${role}</h3><pre dir="auto">${withVariables(content)}</pre>${
      more !== undefined && markup`<pre class="mono">${more}</pre>`
    }</article>`
  );

/** A role that has a style. Any other text must not become the name of a class. */
const kindOf = (role: string): string => ["system", "user", "assistant"].includes(role) ? role : "";

/** A text with its `{{variables}}` lit up. */
function withVariables(text: string): Part {
  const parts: Part[] = [];
  let last = 0;
  for (const { start, end } of findPlaceholders(text)) {
    parts.push(text.slice(last, start), markup`<mark>${text.slice(start, end)}</mark>`);
    last = end;
  }
  return [...parts, text.slice(last)];
}
