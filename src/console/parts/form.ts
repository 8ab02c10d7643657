// Forms and their fields. Each field has a label, and what it takes stands below it.
import { exact, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { findLack } from "../page.ts";
import type { Visit } from "../page.ts";
import type { Role } from "../../management/operation.ts";

type Field = {
  label: string;
  name: string;
  value?: string | number | null | undefined;
  hint?: Part;
  type?: "text" | "number" | "search" | "password" | "date" | "datetime-local" | "url";
  isRequired?: boolean;
  /** Filters give it the room of two fields. */
  isLong?: true;
  /** Values that a browser suggests. */
  suggestions?: Html;
  placeholder?: string;
};

const hintId = (name: string) => `hint-${name}`;
const described = ({ name, hint }: Pick<Field, "name" | "hint">) =>
  hint !== undefined && markup` aria-describedby="${hintId(name)}"`;
const hintOf = ({ name, hint }: Pick<Field, "name" | "hint">) =>
  hint !== undefined && markup`<p class="hint" id="${hintId(name)}">${hint}</p>`;

/** A field of one line. */
export const field = (
  { label, name, value, hint, type = "text", isRequired, placeholder, suggestions }: Field,
): Html =>
  markup`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" value="${
    exact(
      String(value ?? ""),
    )
  }"${isRequired && markup` required`}${placeholder && markup` placeholder="${placeholder}"`}${
    type === "number" && markup` min="0" step="1"`
  }${type === "password" ? markup` autocomplete="current-password"` : markup` autocomplete="off"`}${
    described({ name, hint })
  }${suggestions && markup` list="${name}-list"`}>${
    suggestions && markup`<datalist id="${name}-list">${suggestions}</datalist>`
  }${hintOf({ name, hint })}</div>`;

/** A field of several lines. A browser drops a line break at its start, so there is one more. */
export const area = (
  { label, name, value, hint, rows = 3, isCode = false }: Field & { rows?: number; isCode?: boolean },
): Html =>
  markup`<div class="field"><label for="${name}">${label}</label><textarea id="${name}" name="${name}" rows="${rows}"${
    isCode &&
    markup` class="code"`
  } spellcheck="${isCode ? "false" : "true"}"${described({ name, hint })}>\n${exact(String(value ?? ""))}</textarea>${
    hintOf({ name, hint })
  }</div>`;

/** A choice of one. */
export const select = (
  { label, name, value, hint, isLong, options }: Field & {
    options: readonly (readonly [value: string, label: string])[];
  },
): Html =>
  markup`<div class="field${
    isLong && markup` long`
  }"><label for="${name}">${label}</label><select id="${name}" name="${name}"${
    described({
      name,
      hint,
    })
  }>${optionsOf(options, value)}</select>${hintOf({ name, hint })}</div>`;

const optionsOf = (options: readonly (readonly [value: string, label: string])[], chosen?: Field["value"]): Html =>
  markup`${
    options.map(([option, text]) =>
      markup`<option value="${exact(option)}"${option === String(chosen ?? "") && markup` selected`}>${text}</option>`
    )
  }`;

/** How many versions a choice offers. */
export const mostVersions = 100;

/** A version of a prompt: a choice of all, or its number if `newest`, which begins with the newest one, has not all. */
export function versionField(
  value: Field["value"],
  newest: readonly { version: number; label: string }[],
): Html {
  const options = newest.map(({ version, label }) => [String(version), label] as const);
  const latest = newest[0]?.version ?? 0;
  const common = { label: "Version", name: "version", value };
  return latest === newest.length ? select({ ...common, options }) : field({
    ...common,
    type: "number",
    isRequired: true,
    suggestions: optionsOf(options),
    hint: `1 to ${latest}. The newest ${newest.length} are suggested.`,
  });
}

/** A box to tick. */
export const checkbox = (label: Part, name: string, isChecked = false): Html =>
  markup`<div class="field check"><input type="checkbox" id="${name}" name="${name}" value="yes"${
    isChecked && markup` checked`
  }><label for="${name}">${label}</label></div>`;

/** A value that a form sends without showing it. */
export const hiddenField = (name: string, value: string | number): Html =>
  markup`<input type="hidden" name="${name}" value="${exact(String(value))}">`;

/** The reason for a change, which the audit log keeps. */
export const noteField = ({ form }: Visit): Html =>
  area({ label: "Note", name: "note", value: form.get("note"), hint: "Why. It is kept in the history.", rows: 2 });

type Form = { submit: string; body?: Part; kind?: "primary" | "danger" | "plain"; action?: string };

/** A form that changes something. It is sent to the page that shows it, unless it names another one. */
export const form = ({ submit, body, kind = "primary", action = "" }: Form): Html =>
  markup`<form method="post" ${
    action !== "" && markup` action="${action}"`
  } class="stack">${body}<p class="actions"><button class="${kind}">${submit}</button></p></form>`;

/** Filters, which become the query of the page, so that it can be sent to a colleague. */
export const filters = (body: Part, clear?: string, submit = "Apply"): Html =>
  markup`<form method="get" class="filters" role="search">${body}<p class="actions"><button>${submit}</button>${
    clear !== undefined &&
    markup`<a class="button plain" href="${clear}">Clear</a>`
  }</p></form>`;

/** A form, or what the caller lacks to send it. */
export function guarded(visit: Visit, operation: { role: Role }, content: () => Part, isProtected = false): Part {
  const lack = findLack(visit, operation, isProtected);
  return lack === undefined ? content() : markup`<p class="lack">${lack}</p>`;
}
