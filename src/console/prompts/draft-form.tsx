// The form of an edited prompt, and a draft's messages with example values filled in. Without scripts the buttons of
// the form send it, and it comes back changed.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { readItems, readMembers } from "../../common/json-text.ts";
import { placeholder, soleVariable, unclosed } from "../../support/template.ts";
import type { Declarations } from "../../management/prompts/declarations.ts";
import { fillVariables, variablesOf } from "../../management/prompts/prompt-text.ts";
import type { PromptContent } from "../../management/prompts/prompt-text.ts";
import { readMessage } from "../frame/conversation.ts";
import type { Draft, DraftMessage } from "./draft.ts";
import { exact, Fragment, h } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { Messages } from "../frame/content.tsx";
import type { ConsoleRequest } from "../frame/page.ts";
import { Area, faultAt, Field, HiddenField } from "../frame/form.tsx";

type Faults = ReadonlyMap<string, string>;
type DraftFormProps = {
  visit: ConsoleRequest;
  draft: Draft;
  faults: Faults;
  isNew: boolean;
  latest: number | undefined;
};

export function DraftForm({ visit, draft, faults, isNew, latest }: DraftFormProps): Html {
  const { messages, name, title, description, llmConfig, declarations, note } = draft;
  return (
    <form method="post" id="draft" class="stack wide" data-placeholder={placeholder.source}>
      <button name="do" value="preview" class="hide" tabindex="-1" aria-hidden="true">Preview</button>
      {latest !== undefined && <HiddenField name="latest" value={latest} />}
      {isNew && (
        <Field
          label="Name"
          name="name"
          value={name}
          {...faultAt(visit, "name")}
          isRequired
          placeholder="support/assistant"
          hint="Lower-case letters, digits, ., _ and -. A slash makes a folder."
        />
      )}
      <div class="row">
        <Field label="Title" name="title" value={title} isRequired {...faultAt(visit, "title")} />
        <Field label="Description" name="description" value={description} {...faultAt(visit, "description")} />
      </div>
      <div>
        <datalist id="roles">
          {["system", "user", "assistant", "tool"].map((role) => <option value={role} />)}
        </datalist>
        {messages.map((message, index) => messageFields(message, index, messages.length, faults))}
        <button name="do" value="add" class="small" formaction={`#message-${messages.length + 1}`} formnovalidate>
          Add message
        </button>
      </div>
      <Area
        label="Model settings"
        name="llmConfig"
        value={llmConfig}
        isCode
        rows={rowsOf(llmConfig)}
        fault={faults.get("llmConfig") ?? ""}
        hint="JSON, served as it is: provider, model, temperature and so on."
      />
      <details open={declarations !== ""}>
        <summary>Variables</summary>
        <Area
          label="Variables"
          name="declarations"
          value={declarations}
          isCode
          isLabelHidden
          rows={rowsOf(declarations)}
          fault={faults.get("declarations") ?? ""}
          hint='JSON by name, such as {"shop": {"type": "text", "example": "Acme", "required": false}}. Types: text, number, boolean, messages.'
        />
      </details>
      <div class="publish">
        <Area label="Note" name="note" value={note} rows={1} placeholder="What changes, and why" isLabelHidden />
        <p class="actions">
          <button class="primary" name="do" value="publish">{isNew ? "Create prompt" : "Publish version"}</button>
          <button class="unscripted" name="do" value="preview" formnovalidate>Preview</button>
        </p>
      </div>
    </form>
  );
}

const leastRows = 2, mostRows = 40, rowLength = 72; // characters

/** About as many rows as a text takes, for browsers that do not size a field by its text. */
function rowsOf(text: string): number {
  const rows = text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / rowLength)), 0);
  return Math.max(leastRows, Math.min(rows, mostRows));
}

function messageFields(
  { role, content, isJson, more }: DraftMessage,
  index: number,
  count: number,
  faults: Faults,
): Html {
  const isFirst = index === 0, isLast = index === count - 1;
  return (
    <fieldset class="message" id={`message-${index + 1}`}>
      <legend class="hide">Message {index + 1}</legend>
      <div class="line">
        <div>
          <label class="hide" for={`role-${index}`}>Role</label>
          <input
            id={`role-${index}`}
            name={`role-${index}`}
            value={exact(role)}
            list="roles"
            required
            placeholder="role"
            autocomplete="off"
          />
        </div>
        <p class="actions">
          {!isFirst && moveButton("up", "Move up", index, index)}
          {!isLast && moveButton("down", "Move down", index, index + 2)}
          {count > 1 && moveButton("remove", "Remove", index, isLast ? index : index + 1)}
        </p>
      </div>
      {isJson && <HiddenField name={`json-${index}`} value="yes" />}
      <Area
        label={isJson ? "Content, as JSON" : "Content"}
        name={`content-${index}`}
        value={content}
        rows={rowsOf(content)}
        isCode
        isProse={!isJson}
        isLabelHidden={!isJson}
        fault={isJson ? faults.get(`content-${index}`) ?? "" : undefined}
        warning={warningOf(content)}
      />
      {moreFields(more, index, faults)}
    </fieldset>
  );
}

const mostPlaces = 3; // in a warning

/** Warns of unclosed variables in a text. They would be served as they are. */
function warningOf(text: string): string {
  const places = unclosed(text), rest = places.length - mostPlaces;
  if (places.length === 0) return "";
  const named = places.slice(0, mostPlaces).map(({ line, column }) => `line ${line}, column ${column}`).join("; ");
  return `Warning: {{ without }} in ${named}${rest > 0 ? ` and ${rest} more` : ""}. Write a variable as {{name}}.`;
}

/** A button that changes the messages. The page that comes back shows the message at `place`, from 1. */
const moveButton = (verb: string, label: string, index: number, place: number): Html => (
  <button
    class="small plain"
    name="do"
    value={`${verb}-${index}`}
    formaction={`#message-${place}`}
    formnovalidate
  >
    {label}
    <span class="hide">{` message ${index + 1}`}</span>
  </button>
);

const moreFields = (more: string, index: number, faults: Faults): Html => (
  <details open={more !== ""}>
    <summary>
      More fields<span class="hide">{` of message ${index + 1}`}</span>
    </summary>
    <Area
      label={`More fields of message ${index + 1}`}
      name={`more-${index}`}
      value={more}
      rows={rowsOf(more)}
      isCode
      isLabelHidden
      fault={faults.get(`more-${index}`) ?? ""}
      hint="A JSON object, such as a name or tool calls."
    />
  </details>
);

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
