// Forms and their fields. Each field has a label, and a hint below it.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { exact, Fragment, h } from "./html.ts";
import type { Html, Part } from "./html.ts";
import { missingRole } from "./page.ts";
import type { ConsoleRequest } from "./page.ts";
import type { Role } from "../../management/kernel/operation.ts";

type FieldProps = {
  label: string;
  name: string;
  /** For pages with several fields of the name. */
  id?: string;
  value?: string | number | null | undefined;
  hint?: Part;
  type?: "text" | "number" | "search" | "password" | "date" | "datetime-local" | "url";
  isRequired?: boolean;
  /** Filters give it the room of two fields. */
  isLong?: boolean;
  /** Values that a browser suggests. */
  suggestions?: Html;
  placeholder?: string;
  /** Its place makes it clear, so that only a screen reader needs the label. */
  isLabelHidden?: boolean;
  /** Error of the value. Empty if valid, for the script to fill. */
  fault?: string | undefined;
  /** Possible slip. Empty for the script to fill. */
  warning?: string | undefined;
  /** Keys that lead to it, for the script of its page. */
  shortcut?: string | undefined;
};

/** Notes on a field beside its label, each with its own id. */
const notes = ["hint", "fault", "warning"] as const;

const ariaOf = ({ name, id = name, shortcut, ...given }: FieldProps) => ({
  "aria-invalid": given.fault ? "true" : undefined,
  "aria-describedby": notes.filter((note) => given[note] !== undefined).map((note) => `${note}-${id}`).join(" ") ||
    undefined,
  "aria-keyshortcuts": shortcut,
});

/** The frame of a field: its label above, its error and its hint below. */
const Labelled = (
  { label, name, id = name, hint, isLong, isLabelHidden, fault, warning, children }: FieldProps & { children?: Part },
): Html => (
  <div class={isLong ? "field long" : "field"}>
    <label for={id} class={isLabelHidden && "hide"}>{label}</label>
    {children}
    {fault !== undefined && <p class="fault" id={`fault-${id}`} aria-live="polite">{fault}</p>}
    {warning !== undefined && <p class="warned" id={`warning-${id}`} aria-live="polite">{warning}</p>}
    {hint !== undefined && <p class="hint" id={`hint-${id}`}>{hint}</p>}
  </div>
);

/** A field of one line. */
export function Field({ type = "text", suggestions, ...given }: FieldProps): Html {
  const { name, id = name, value, isRequired, placeholder } = given;
  return (
    <Labelled {...given}>
      <input
        id={id}
        name={name}
        type={type}
        value={exact(String(value ?? ""))}
        required={isRequired}
        placeholder={placeholder || undefined}
        min={type === "number" && "0"}
        step={type === "number" && "1"}
        autocomplete={type === "password" ? "current-password" : "off"}
        {...ariaOf(given)}
        list={suggestions && `${id}-list`}
      />
      {suggestions && <datalist id={`${id}-list`}>{suggestions}</datalist>}
    </Labelled>
  );
}

/** The reason why a form was refused, at the field that it is about. */
export const faultAt = ({ refusal }: Pick<ConsoleRequest, "refusal">, name: string): Pick<FieldProps, "fault"> =>
  refusal?.field !== undefined && memberOf(refusal.field) === name ? { fault: `${refusal.message}.` } : {};

/** `tiers[0].input` → `tiers` */
const memberOf = (path: string): string => path.split(/[.[]/, 1)[0]!;

/** The id of the field that a refusal is about, if a part of a page shows its reason there. */
export const findFaulty = ({ refusal }: Pick<ConsoleRequest, "refusal">, { html }: Html): string | undefined => {
  const name = refusal?.field && memberOf(refusal.field);
  return name && html.includes(` id="fault-${name}"`) ? name : undefined;
};

/** A field with what was entered into it, or else with what is stored. */
export const given = (
  visit: Pick<ConsoleRequest, "form" | "refusal">,
  name: string,
  label: string,
  stored?: FieldProps["value"],
) => ({
  ...{ name, label, value: visit.form.get(name) ?? stored, ...faultAt(visit, name) },
});

type AreaProps = FieldProps & {
  rows?: number;
  /** In a monospaced font. */
  isCode?: boolean;
  isProse?: boolean;
};

/** A field of several lines. A browser drops a line break at its start, so there is one more. */
export function Area({ rows = 3, isCode = false, isProse = !isCode, ...given }: AreaProps): Html {
  const { name, id = name, value } = given;
  return (
    <Labelled {...given}>
      <textarea
        id={id}
        name={name}
        rows={rows}
        class={isCode && "code"}
        spellcheck={String(isProse)}
        placeholder={given.placeholder}
        {...ariaOf(given)}
      >
        {"\n"}
        {exact(String(value ?? ""))}
      </textarea>
    </Labelled>
  );
}

type Options = readonly (readonly [value: string, label: string])[];

/** A choice of one. */
export function Select({ options, ...given }: FieldProps & { options: Options }): Html {
  const { name, id = name, value } = given;
  return (
    <Labelled {...given}>
      <select
        id={id}
        name={name}
        {...ariaOf(given)}
      >
        {optionsOf(options, value)}
      </select>
    </Labelled>
  );
}

/** True if a text can be its own value in an option: browsers change spaces. */
const isPlain = (text: string): boolean => /^[\w.-]+$/.test(text);

const optionsOf = (options: Options, chosen?: FieldProps["value"]): Html => (
  <>
    {options.map(([option, text]) => (
      <option
        value={option === text && isPlain(option) ? undefined : exact(option)}
        selected={option === String(chosen ?? "")}
      >
        {text}
      </option>
    ))}
  </>
);

/** Number of versions in a choice. */
export const mostVersions = 100;

type VersionFieldProps = {
  value: FieldProps["value"];
  newest: readonly { version: number; label: string }[];
};

/** A version of a prompt: a choice of all, or its number if `newest`, which begins with the newest one, has not all. */
export function VersionField({ value, newest }: VersionFieldProps): Html {
  const options = newest.map(({ version, label }) => [String(version), label] as const);
  const latest = newest[0]?.version ?? 0;
  const common = { label: "Version", name: "version", value };
  if (latest === newest.length) return <Select {...common} options={options} />;
  return (
    <Field
      {...common}
      type="number"
      isRequired
      suggestions={optionsOf(options)}
      hint={`1 to ${latest}. The newest ${newest.length} are suggested.`}
    />
  );
}

type CheckboxProps = { label: string; name: string; isChecked?: boolean };

/** A box to tick. */
export const Checkbox = ({ label, name, isChecked = false }: CheckboxProps): Html => (
  <div class="field check">
    <input type="checkbox" id={name} name={name} value="yes" checked={isChecked} />
    <label for={name}>{label}</label>
  </div>
);

/** A value that a form sends without showing it. */
export const HiddenField = ({ name, value }: { name: string; value: string | number }): Html => (
  <input type="hidden" name={name} value={exact(String(value))} />
);

/** The reason for a change, which the audit log keeps. */
export const NoteField = ({ visit }: { visit: ConsoleRequest }): Html => (
  <Area {...given(visit, "note", "Note")} hint="Why. It is kept in the history." rows={2} />
);

type FormProps = { submit: string; kind?: "primary" | "danger" | "plain"; action?: string; children?: Part };

/** A form that changes something. It is sent to the page that shows it, unless it names another one. */
export const Form = ({ submit, kind = "primary", action = "", children }: FormProps): Html => (
  <form method="post" action={action || undefined} class="stack">
    {children}
    <p class="actions">
      <button class={kind}>{submit}</button>
    </p>
  </form>
);

/** Deletes what the page shows. */
export const deleteForm = (
  visit: ConsoleRequest,
  operation: GuardedProps["operation"],
  noun: string,
  effect: string,
): Html => (
  <details>
    <summary>Delete</summary>
    <Guarded visit={visit} operation={operation}>
      <Form submit={`Delete this ${noun}`} kind="danger">
        <p>{effect}</p>
        <HiddenField name="do" value="delete" />
      </Form>
    </Guarded>
  </details>
);

type FiltersProps = {
  /** Page without a filter, if one is set and no chips show it. */
  clear?: string | undefined;
  /** Chips of set filters. */
  chips?: Part;
  submit?: string;
  children?: Part;
};

/**
 * Filters, which become the query of the page, so that it can be sent to a colleague. They apply as they change;
 * without scripts there is a button.
 */
export const Filters = ({ clear, chips, submit = "Apply", children }: FiltersProps): Html => (
  <>
    <form method="get" class="filters" role="search">
      {children}
      <button class="unscripted">{submit}</button>
      {clear !== undefined && <a class="button plain" href={clear}>Clear</a>}
    </form>
    {chips}
  </>
);

type MenuProps = { label: string; isWide?: boolean; children?: Part };

/** Fields of a filter that open below their label. A wide menu has many, applied together by a button. */
export const Menu = ({ label, isWide, children }: MenuProps): Html => (
  <details class={isWide ? "menu wide" : "menu"} name="menu">
    <summary class="button">{label}</summary>
    <div class="panel">
      {children}
      {isWide && (
        <p class="actions">
          <button class="primary">Apply</button>
        </p>
      )}
    </div>
  </details>
);

type GuardedProps = { visit: ConsoleRequest; operation: { role: Role }; isProtected?: boolean; children?: Part };

/** A form, or a notice of the missing role. */
export function Guarded({ visit, operation, isProtected, children }: GuardedProps): Part {
  const lack = missingRole(visit, operation, isProtected);
  return lack === undefined ? children : <p class="lack">{lack}</p>;
}
