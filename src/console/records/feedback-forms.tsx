// Forms that give feedback on a record: one for each name, and one for any other. A key leads to each.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { FeedbackNameRule } from "../../management/terms/feedback-names.ts";
import type { Feedback } from "../../schema/feedback.ts";
import { faultyField } from "./feedback.ts";
import type { FeedbackOnRecord } from "./feedback.ts";
import { numberText } from "../frame/format.tsx";
import { h, isolated, toHtml } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { Area, Field, HiddenField, Select } from "../frame/form.tsx";

const mostForms = 6;
const mostComment = 600; // characters of HTML that a form has for a comment, unless it is asked for

type Entered = { value: string; comment: string };

/** Contents of a form: the refused input, or else the person's feedback. */
type Answer = Entered & {
  faults: { name?: string | undefined; value?: string | undefined; comment?: string | undefined };
};

const ownOf = ({ own }: FeedbackOnRecord): Map<string, Feedback> => new Map(own.map((piece) => [piece.name, piece]));

/** The name that was sent with a form and refused. */
const refusedName = ({ refusal, form }: ConsoleRequest): string | null =>
  refusal !== undefined && form.get("do") === "feedback" ? form.get("name") : null;

/**
 * The names that have a form: the one that is asked for, those that the person has judged, and then the others. A form
 * shows a comment as a whole, so a name with a long one is included only if asked for.
 */
export function namesOfForms(visit: ConsoleRequest, feedback: FeedbackOnRecord): FeedbackNameRule[] {
  const own = ownOf(feedback), asked = refusedName(visit) ?? visit.query.get("rate");
  const rank = ({ name }: FeedbackNameRule) => name === asked ? 0 : own.has(name) ? 1 : 2;
  return feedback.names
    .filter(({ name }) => name === asked || toHtml(own.get(name)?.comment).length <= mostComment)
    .sort((one, other) => rank(one) - rank(other)).slice(0, mostForms);
}

type FormsProps = { visit: ConsoleRequest; feedback: FeedbackOnRecord; shown: readonly FeedbackNameRule[] };

export function FeedbackForms({ visit, feedback, shown }: FormsProps): Html {
  const own = ownOf(feedback), refused = refusedName(visit);
  const isListed = shown.some(({ name }) => name === refused);
  const hasOther = feedback.isOpen || shown.length < feedback.names.length || refused !== null && !isListed;
  return (
    <div class="judgements">
      {shown.map((rule, nth) => (
        <NameForm
          rule={rule}
          own={own.get(rule.name)}
          answer={answerTo(visit, own.get(rule.name), rule.name === refused)}
          shortcut={shortcutOf(nth)}
        />
      ))}
      {hasOther && (
        <OtherForm
          name={isListed ? "" : refused ?? ""}
          answer={answerTo(visit, undefined, refused !== null && !isListed)}
          shortcut={shortcutOf(shown.length)}
        />
      )}
    </div>
  );
}

/** The keys that lead to the nth form. */
const shortcutOf = (nth: number): string => nth === 0 ? "f 1" : String(nth + 1);

function answerTo(visit: ConsoleRequest, own: Feedback | undefined, isRefused: boolean): Answer {
  if (!isRefused) return { value: own === undefined ? "" : String(own.value), comment: own?.comment ?? "", faults: {} };
  const value = visit.form.get("value") ?? "", comment = visit.form.get("comment") ?? "";
  return { value, comment, faults: { [faultyField(visit)!]: `${visit.refusal!.message}.` } };
}

type NameFormProps = { rule: FeedbackNameRule; own: Feedback | undefined; answer: Answer; shortcut: string };

function NameForm({ rule, own, answer, shortcut }: NameFormProps): Html {
  const { name, kind, labels } = rule, { value, faults } = answer;
  const field = { label: name, name: "value", id: `value-${name}`, value, fault: faults.value, shortcut };
  return (
    <form method="post" class="panel" aria-label={`Feedback ${name}`}>
      <HiddenField name="do" value="feedback" />
      <HiddenField name="name" value={name} />
      {kind === "boolean"
        ? <Choice rule={rule} own={own} fault={faults.value} shortcut={shortcut} />
        : labels === null
        ? <Field {...field} hint={hintOf(rule)} />
        : <Select {...field} hint={hintOf(rule)} options={optionsOf(labels, value)} />}
      <Comment id={`comment-${name}`} of={name} answer={answer} />
      {kind !== "boolean" && <button>{own === undefined ? "Give feedback" : "Change feedback"}</button>}
    </form>
  );
}

/** Two buttons. The person's value is pressed. */
function Choice({ rule, own, fault, shortcut }: Omit<NameFormProps, "answer"> & { fault: string | undefined }): Html {
  const { name } = rule;
  const button = (value: boolean, label: string, more = {}) => (
    <button name="value" value={String(value)} aria-pressed={String(own?.value === value)} {...more}>{label}</button>
  );
  return (
    <fieldset class="field">
      <legend>{isolated(name)}</legend>
      <p class="actions">
        {button(true, "Yes", { id: `value-${name}`, "aria-keyshortcuts": shortcut })}
        {button(false, "No")}
      </p>
      {fault !== undefined && <p class="fault">{fault}</p>}
      {rule.better !== null && <p class="hint">{hintOf(rule)}</p>}
    </fieldset>
  );
}

type OtherFormProps = { name: string; answer: Answer; shortcut: string };

/** Feedback under any name. */
function OtherForm({ name, answer, shortcut }: OtherFormProps): Html {
  const { value, faults } = answer;
  return (
    <form method="post" class="panel" aria-label="Other feedback">
      <HiddenField name="do" value="feedback" />
      <Field
        label="Another name"
        name="name"
        id="other-name"
        value={name}
        placeholder="correctness"
        fault={faults.name}
        shortcut={shortcut}
      />
      <Field
        label="Value"
        name="value"
        id="other-value"
        value={value}
        fault={faults.value}
        hint="Yes or no, a number, or a label."
      />
      <Comment id="other-comment" of="" answer={answer} />
      <button>Give feedback</button>
    </form>
  );
}

/** A comment, which is open if there is one. */
const Comment = ({ id, of, answer: { comment, faults } }: { id: string; of: string; answer: Answer }): Html => (
  <details open={comment !== "" || faults.comment !== undefined}>
    <summary>Comment</summary>
    <Area
      label={`Comment ${of}`}
      name="comment"
      id={id}
      value={comment}
      fault={faults.comment}
      rows={2}
      isLabelHidden
    />
  </details>
);

/** The labels to choose from, and what was chosen when there were others. */
const optionsOf = (labels: readonly string[], chosen: string) =>
  [...new Set(["", ...labels, chosen])].map((label) => [label, label] as const);

/** Values of a name: `0 to 1. Higher is better.` */
function hintOf({ kind, minimum, maximum, labels, better }: FeedbackNameRule): Part {
  const range = minimum !== null && maximum !== null
    ? `${numberText(minimum)} to ${numberText(maximum)}.`
    : minimum !== null
    ? `At least ${numberText(minimum)}.`
    : maximum !== null
    ? `At most ${numberText(maximum)}.`
    : { number: "A number.", label: labels === null ? "A label." : "", boolean: "" }[kind];
  const direction = better === null
    ? ""
    : kind === "boolean"
    ? `${better === "higher" ? "Yes" : "No"} is better.`
    : `${better === "higher" ? "Higher" : "Lower"} is better.`;
  return [range, direction].filter((text) => text !== "").join(" ");
}
