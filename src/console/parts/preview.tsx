// The messages of a draft with example values filled in.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { readItems, readMembers } from "../../common/json-text.ts";
import { soleVariable } from "../../common/template.ts";
import type { Declarations } from "../../management/declarations.ts";
import { fillVariables, variablesOf } from "../../management/prompt-text.ts";
import type { PromptContent } from "../../management/prompt-text.ts";
import { readMessage } from "../conversation.ts";
import { exact, Fragment, h } from "../html.ts";
import type { Html } from "../html.ts";
import { Messages } from "./content.tsx";

/** The declared examples by name: texts, and lists of messages, each as its JSON text. */
function examplesOf(declarations: Declarations | undefined) {
  const texts = new Map<string, string>(), messages = new Map<string, string[]>();
  for (const [name, declaration] of readMembers(declarations?.text ?? "{}")) {
    const members = readMembers(declaration), example = members.get("example");
    if (example === undefined) continue;
    if (example.startsWith("[")) messages.set(name, readItems(example));
    else texts.set(name, example.startsWith('"') ? JSON.parse(example) as string : example);
  }
  return { texts, messages };
}

/** Each variable has a field for its value, which belongs to the form of the draft, and begins with its example. */
export function filledIn(form: URLSearchParams, { messages, declarations }: PromptContent): Html {
  const variables = variablesOf(messages), examples = examplesOf(declarations);
  const valueOf = (name: string) => form.get(`value-${name}`) ?? examples.texts.get(name) ?? "";
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
      <Messages
        texts={readItems(filled.messages.text).flatMap((message) =>
          examples.messages.get(soleVariable(readMessage(message).content) ?? "") ?? [message]
        )}
      />
    </>
  );
}
