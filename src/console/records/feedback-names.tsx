// The names of feedback: which values a workspace takes under each, and which of them are better.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { declareFeedback, listFeedbackNames, undeclareFeedback } from "../../management/terms/feedback-names.ts";
import type { FeedbackNameRule } from "../../management/terms/feedback-names.ts";
import { dash, excerpt, numberText } from "../frame/format.tsx";
import { Fragment, h } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, link, missingRole, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Pager, Section, Table } from "../frame/elements.tsx";
import { Area, faultAt, Field, Form, Guarded, HiddenField, Select } from "../frame/form.tsx";
import { decimalIn, linesIn, withLabels } from "../frame/inputs.tsx";

const kinds = [["boolean", "Yes or no"], ["number", "Number"], ["label", "Label"]] as const;
const directions = [["", "Neither"], ["higher", "Higher"], ["lower", "Lower"]] as const;

/** The labels of the fields by their names, which are those of the operation. */
const labels = {
  name: "Name",
  kind: "Values",
  minimum: "Minimum",
  maximum: "Maximum",
  labels: "Labels",
  better: "Better values",
};
type FieldName = keyof typeof labels;

const pageSize = 50;

export const feedbackNamesPage: Page = {
  path: "/:workspaceId/settings/feedback",
  async show(visit) {
    const { names } = await visit.call(listFeedbackNames, { workspaceId: workspaceOf(visit).id });
    const chosen = names.find(({ name }) => name === queryValue(visit, "name"));
    const after = queryValue(visit, "after") ?? "", following = names.filter(({ name }) => name > after);
    const shown = following.slice(0, pageSize);
    return {
      title: "Feedback names",
      done: {
        declared: "The name is declared.",
        removed: "The declaration is removed. Feedback that was given stays.",
      },
      heading: "Feedback names",
      lede:
        "What records are judged by. The first feedback under a name, or its declaration, settles what its values are.",
      body: (
        <>
          {names.length === 0
            ? <Empty title="No names yet">The first feedback makes a name, or declare one below.</Empty>
            : namesTable(visit, shown)}
          <Pager
            label="More"
            next={following.length > pageSize ? shown.at(-1)!.name : null}
            href={(after) => `?after=${after}`}
          />
          <Section title={chosen === undefined ? "Declare a name" : `Change ${chosen.name}`}>
            <Guarded visit={visit} operation={declareFeedback}>
              {!names.some(({ isDeclared }) => isDeclared) && (
                <p class="hint">Once a workspace has declared a name, it refuses feedback under all others.</p>
              )}
              {declareForm(visit, chosen)}
            </Guarded>
          </Section>
          {chosen?.isDeclared && missingRole(visit, undeclareFeedback) === undefined && removal(chosen, names)}
        </>
      ),
    };
  },
  async act(visit) {
    const { id: workspaceId } = workspaceOf(visit), removed = formValue(visit, "remove");
    if (removed !== undefined) await visit.call(undeclareFeedback, { workspaceId, name: removed });
    else {
      await withLabels(
        (member) => labels[member as FieldName],
        () => visit.call(declareFeedback, { workspaceId, ...declarationIn(visit) }),
      );
    }
    return {
      redirect: link(visit, ["settings", "feedback"], { done: removed === undefined ? "declared" : "removed" }),
    };
  },
};

const declarationIn = (visit: ConsoleRequest) => ({
  name: formValue(visit, "name") ?? "",
  kind: kinds.find(([kind]) => kind === formValue(visit, "kind"))?.[0] ?? "boolean",
  minimum: decimalIn(formValue(visit, "minimum"), "minimum", ", such as 0.5"),
  maximum: decimalIn(formValue(visit, "maximum"), "maximum", ", such as 0.5"),
  labels: linesIn(formValue(visit, "labels")),
  better: directions.find(([direction]) => direction !== "" && direction === formValue(visit, "better"))?.[0] ||
    undefined,
});

function namesTable(visit: ConsoleRequest, names: readonly FeedbackNameRule[]): Html {
  const mayChange = missingRole(visit, declareFeedback) === undefined;
  return (
    <Table
      caption="Feedback names"
      rows={names}
      columns={[
        {
          label: labels.name,
          isHead: true,
          cell: ({ name }) => mayChange ? <a href={`?name=${name}`}>{name}</a> : name,
        },
        { label: labels.kind, cell: valuesOf },
        {
          label: labels.better,
          cell: ({ better }) => directions.find(([direction]) => direction === better)?.[1] ?? dash,
        },
        { label: "Declared", cell: ({ isDeclared }) => isDeclared ? "yes" : "no" },
      ]}
    />
  );
}

const mostLabels = 5, maxLabel = 24; // characters

/** `Number from 0 to 1`, `Label: kind, curt` */
function valuesOf({ kind, minimum, maximum, labels }: FeedbackNameRule): Part {
  const word = kinds.find(([each]) => each === kind)?.[1];
  if (labels !== null) {
    const others = labels.length - mostLabels;
    return [
      `${word}: `,
      labels.slice(0, mostLabels).map((label, nth) => [nth > 0 && ", ", excerpt(label, maxLabel)]),
      others > 0 && `, ${others} more`,
    ];
  }
  return [
    word,
    minimum !== null && ` from ${numberText(minimum)}`,
    maximum !== null && ` to ${numberText(maximum)}`,
  ];
}

/** Placed below the form that changes a declared name. */
const removal = ({ name }: FeedbackNameRule, names: readonly FeedbackNameRule[]): Html => (
  <Section title="Remove the declaration">
    <p class="hint">
      {names.filter(({ isDeclared }) => isDeclared).length === 1
        ? "It is the only one. Feedback under any name is then taken."
        : `Feedback under ${name} is then refused.`} What was given stays.
    </p>
    <form method="post">
      <HiddenField name="remove" value={name} />
      <button class="danger">Remove the declaration</button>
    </form>
  </Section>
);

function declareForm(visit: ConsoleRequest, chosen: FeedbackNameRule | undefined): Html {
  const { form } = visit, isSent = form.has("kind");
  const given = (name: FieldName) => ({
    label: labels[name],
    name,
    value: isSent ? form.get(name) : storedIn(chosen, name),
    ...faultAt(visit, name),
  });
  return (
    <Form submit={chosen?.isDeclared ? "Save" : "Declare"}>
      <div class="row">
        <Field {...given("name")} isRequired placeholder="correctness" />
        <Select {...given("kind")} options={kinds} />
        <Select {...given("better")} options={directions} hint="Of yes and no, yes is the higher one." />
      </div>
      <div class="row">
        <Field {...given("minimum")} hint="Of numbers. None if empty." />
        <Field {...given("maximum")} hint="Of numbers. None if empty." />
      </div>
      <Area {...given("labels")} hint="One per line. All labels are taken if empty." isProse={false} />
    </Form>
  );
}

function storedIn(rule: FeedbackNameRule | undefined, name: FieldName): string {
  const value = rule?.[name] ?? "";
  return Array.isArray(value) ? value.join("\n") : String(value);
}
