// The form of an edited prompt. Without scripts its buttons send it, and it comes back changed.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Draft, DraftMessage } from "../draft.ts";
import { exact, h } from "../html.ts";
import type { Html } from "../html.ts";
import { Area, Field, HiddenField } from "./form.tsx";

type DraftFormProps = { draft: Draft; isNew: boolean; latest: number | undefined; lack: string | undefined };

export function DraftForm({ draft, isNew, latest, lack }: DraftFormProps): Html {
  const { messages, name, title, description, llmConfig, note } = draft;
  return (
    <form method="post" id="draft" class="stack wide" data-live="preview">
      <button name="do" value="preview" class="hide" tabindex="-1" aria-hidden="true">Preview</button>
      {latest !== undefined && <HiddenField name="latest" value={latest} />}
      {isNew && (
        <Field
          label="Name"
          name="name"
          value={name}
          isRequired
          placeholder="support/assistant"
          hint="Lower-case letters, digits, ., _ and -. A slash makes a folder."
        />
      )}
      <div class="row">
        <Field label="Title" name="title" value={title} isRequired />
        <Field label="Description" name="description" value={description} />
      </div>
      <datalist id="roles">
        {["system", "user", "assistant", "tool"].map((role) => <option value={role} />)}
      </datalist>
      {messages.map((message, index) => messageFields(message, index, messages.length))}
      <p class="actions">
        <button name="do" value="add">Add a message</button>
      </p>
      <Area
        label="Model settings"
        name="llmConfig"
        value={llmConfig}
        isCode
        rows={4}
        hint="JSON, served as it is: provider, model, temperature and so on."
      />
      <Area
        label="Note"
        name="note"
        value={note}
        rows={2}
        hint="What changes, and why. It stays with the version."
      />
      <p class="actions">
        {lack === undefined
          ? <button class="primary" name="do" value="publish">{isNew ? "Create prompt" : "Publish version"}</button>
          : <span class="lack">{lack}</span>}
        <button name="do" value="preview">Preview</button>
      </p>
    </form>
  );
}

const messageFields = ({ role, content, isJson, more }: DraftMessage, index: number, count: number): Html => (
  <fieldset class="card stack wide">
    <legend class="hide">Message {index + 1}</legend>
    <div class="line">
      <div class="field">
        <label for={`role-${index}`}>Role</label>
        <input
          id={`role-${index}`}
          name={`role-${index}`}
          value={exact(role)}
          list="roles"
          required
          autocomplete="off"
        />
      </div>
      <p class="actions">
        {index > 0 && moveButton(`up-${index}`, "Move up", index)}
        {index < count - 1 && moveButton(`down-${index}`, "Move down", index)}
        {count > 1 && moveButton(`remove-${index}`, "Remove", index)}
      </p>
    </div>
    {isJson && <HiddenField name={`json-${index}`} value="yes" />}
    <Area
      label={isJson ? "Content, as JSON" : "Content"}
      name={`content-${index}`}
      value={content}
      rows={4}
      isCode={isJson}
    />
    {moreFields(more, index)}
  </fieldset>
);

const moveButton = (action: string, label: string, index: number): Html => (
  <button class="small" name="do" value={action} formnovalidate>
    {label}
    <span class="hide">{` message ${index + 1}`}</span>
  </button>
);

const moreFields = (more: string, index: number): Html => (
  <details open={more !== ""}>
    <summary>More fields</summary>
    <Area
      label={`More fields of message ${index + 1}`}
      name={`more-${index}`}
      value={more}
      rows={2}
      isCode
      hint="A JSON object, such as a name or tool calls."
    />
  </details>
);
