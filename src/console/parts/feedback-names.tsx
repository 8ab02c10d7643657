// What pages show where people choose a name of feedback, or have none to choose.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { h } from "../html.ts";
import type { Html } from "../html.ts";
import { Empty } from "./elements.tsx";
import { Field, Select } from "./form.tsx";

const mostOptions = 30;

type NameFieldProps = { names: readonly string[]; value: string | undefined };

/** A field to choose a name, which is entered if there are many. */
export function NameField({ names, value }: NameFieldProps): Html {
  const field = { label: "Name", name: "name", value };
  if (names.length > mostOptions) return <Field {...field} />;
  return <Select {...field} options={names.map((name) => [name, name])} />;
}

export const noFeedback: Html = (
  <Empty title="No feedback">
    Applications send it with <code>call.feedback</code>, and people give it on the page of a record.
  </Empty>
);
