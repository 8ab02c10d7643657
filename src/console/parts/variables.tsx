// The variables of a prompt: which ones a change adds and removes, and what a version declares of them.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { readMembers } from "../../common/json-text.ts";
import { readDeclarations } from "../../management/declarations.ts";
import type { Declarations } from "../../management/declarations.ts";
import { compareDeclarations } from "../../management/prompt-text.ts";
import type { PromptContent } from "../../management/prompt-text.ts";
import { h, isolated } from "../html.ts";
import type { Part } from "../html.ts";
import { Notice, Table } from "./elements.tsx";

const list = (names: readonly string[]) => names.map((name, index) => [index > 0 && ", ", <code>{name}</code>]);

/** Warns when variables come or go, because the applications that fill them in must know. */
export function VariablesNotice({ before, after }: { before: readonly string[]; after: readonly string[] }): Part {
  const added = after.filter((name) => !before.includes(name));
  const removed = before.filter((name) => !after.includes(name));
  if (added.length + removed.length === 0) return undefined;
  return (
    <Notice kind="warning">
      {added.length > 0 && ["New variables: ", list(added), ". Applications must fill them in. "]}
      {removed.length > 0 && ["Variables that go: ", list(removed), "."]}
    </Notice>
  );
}

/** Warns when messages and declarations disagree. */
export function DeclarationsNotice({ content }: { content: PromptContent }): Part {
  const { undeclared, unused, misplaced } = compareDeclarations(content);
  if (undeclared.length + unused.length + misplaced.length === 0) return undefined;
  return (
    <Notice kind="warning">
      {undeclared.length > 0 && ["Not declared: ", list(undeclared), ". "]}
      {unused.length > 0 && ["Declared and not used: ", list(unused), ". "]}
      {misplaced.length > 0 && ["Declared as messages, and not the whole content of a message: ", list(misplaced), "."]}
    </Notice>
  );
}

const mostExample = 200; // characters

/** A row for each variable that a version declares. */
export function DeclarationsTable({ declarations }: { declarations: Declarations }): Part {
  const texts = readMembers(declarations.text);
  const rows = Array.from(readDeclarations(declarations), ([name, { type, required = true, description = "" }]) => {
    const example = readMembers(texts.get(name)!).get("example") ?? "";
    return { name, type, required, description, example: example.slice(0, mostExample) };
  });
  return (
    <Table
      caption="Declared variables"
      rows={rows}
      columns={[
        { label: "Variable", isHead: true, cell: ({ name }) => <code>{name}</code> },
        { label: "Type", cell: ({ type }) => type },
        { label: "Required", cell: ({ required }) => required ? "Yes" : "No" },
        { label: "Example", isMain: true, cell: ({ example }) => example !== "" && <code>{example}</code> },
        { label: "Description", isMain: true, cell: ({ description }) => isolated(description) },
      ]}
    />
  );
}
