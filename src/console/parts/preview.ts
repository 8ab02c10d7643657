// The messages of a draft with example values filled in.
import { readItems } from "../../common/json-text.ts";
import { fillVariables, variablesOf } from "../../management/prompt-text.ts";
import type { PromptContent } from "../../management/prompt-text.ts";
import { exact, markup } from "../html.ts";
import type { Html } from "../html.ts";
import { messagesView } from "./content.ts";

/** Each variable has a field for its example value, which belongs to the form of the draft. */
export function previewOf(form: URLSearchParams, { messages }: Pick<PromptContent, "messages">): Html {
  const variables = variablesOf(messages);
  const given = variables.flatMap((name) => {
    const value = form.get(`value-${name}`) ?? "";
    return value === "" ? [] : [[name, value] as const];
  });
  const filled = fillVariables(messages, Object.fromEntries(given));
  return markup`${
    variables.length > 0 &&
    markup`<p class="hint">Example values for the variables. They are not stored.</p><div class="row">${
      variables.map((name) =>
        markup`<div class="field"><label for="value-${name}"><code>${name}</code></label><input id="value-${name}" name="value-${name}" form="draft" value="${
          exact(
            form.get(`value-${name}`) ?? "",
          )
        }" autocomplete="off"></div>`
      )
    }</div><p></p>`
  }${messagesView(readItems(filled.messages.text), undefined)}`;
}
