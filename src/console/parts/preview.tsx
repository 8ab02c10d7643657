// The messages of a draft with example values filled in.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { readItems } from "../../common/json-text.ts";
import { fillVariables, variablesOf } from "../../management/prompt-text.ts";
import type { PromptContent } from "../../management/prompt-text.ts";
import { exact, Fragment, h } from "../html.ts";
import type { Html } from "../html.ts";
import { Messages } from "./content.tsx";

/** Each variable has a field for its example value, which belongs to the form of the draft. */
export function filledIn(form: URLSearchParams, { messages }: Pick<PromptContent, "messages">): Html {
  const variables = variablesOf(messages);
  const valueOf = (name: string) => form.get(`value-${name}`) ?? "";
  const given = variables.filter((name) => valueOf(name) !== "").map((name) => [name, valueOf(name)]);
  const filled = fillVariables(messages, Object.fromEntries(given));
  return (
    <>
      {variables.length > 0 && (
        <>
          <p class="hint">Example values for the variables. They are not stored.</p>
          <div class="row">
            {variables.map((name) => {
              const id = `value-${name}`;
              return (
                <div class="field">
                  <label for={id}>
                    <code>{name}</code>
                  </label>
                  <input id={id} name={id} form="draft" value={exact(valueOf(name))} autocomplete="off" />
                </div>
              );
            })}
          </div>
          <p></p>
        </>
      )}
      <Messages texts={readItems(filled.messages.text)} />
    </>
  );
}
