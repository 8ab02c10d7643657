// The content of a version: its messages with their variables lit up, their declarations, added and removed variables,
// and the settings of its model.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { indent, readItems, readMembers } from "../../common/json-text.ts";
import { findPlaceholders } from "../../support/template.ts";
import { readDeclarations } from "../../management/prompts/declarations.ts";
import type { Declarations } from "../../management/prompts/declarations.ts";
import { compareDeclarations, variablesOf } from "../../management/prompts/prompt-text.ts";
import type { PromptContent } from "../../management/prompts/prompt-text.ts";
import type { PromptVersion } from "../../management/prompts/versions.ts";
import { readMessage } from "./conversation.ts";
import type { Message } from "./conversation.ts";
import { number } from "./format.tsx";
import { Fragment, h, isolated } from "./html.ts";
import type { Html, Part } from "./html.ts";
import { Chip } from "./chips.tsx";
import { Fact, Facts, Notice, Table } from "./elements.tsx";

/** Maximum characters that a page shows of a text, or of all messages. */
export const mostCharacters = 65_536;
const mostMessages = 100, mostVariables = 100;

/** Messages and settings of a version as they are served. */
export function contentView({ name, version, messages, llmConfig, declarations }: PromptVersion): Html {
  const variables = variablesOf(messages), config = indent(llmConfig.text);
  const whole = (
    <>
      <code>promptledger prompt show {name} --version {version}</code> shows all.
    </>
  );
  return (
    <>
      <Messages texts={readItems(messages.text)} whole={whole} />
      <Facts>
        <Fact label="Variables">
          {variables.length === 0 ? "None" : (
            <span class="chips">
              {variables.slice(0, mostVariables).map((name) => (
                <Chip>
                  <code>{name}</code>
                </Chip>
              ))}
            </span>
          )}
          {leftOut(variables.length - mostVariables, "variables", whole)}
        </Fact>
      </Facts>
      {declarations !== undefined && <DeclarationsTable declarations={declarations} />}
      <h3>Model settings</h3>
      <pre class="panel mono">{config.slice(0, mostCharacters)}</pre>
      {leftOut(config.length - mostCharacters, "characters", whole)}
    </>
  );
}

/** The first messages, one below the other. Each is given as its JSON text. `whole` links to all of them. */
export function Messages({ texts, whole }: { texts: readonly string[]; whole?: Part }): Html {
  const shown = fitting(texts);
  return (
    <>
      {shown.map(({ role, content, more }) => (
        <article class={`message ${kindOf(role)}`}>
          <h3>{role}</h3>
          <pre dir="auto">{withVariables(content)}</pre>
          {more !== undefined && <pre class="mono">{more}</pre>}
        </article>
      ))}
      {leftOut(texts.length - shown.length, "messages", whole)}
    </>
  );
}

/** Hint with the number of omitted items, and a link to all. */
const leftOut = (count: number, noun: string, whole: Part): Part =>
  count > 0 && <p class="hint">{number(count)} more {noun} are not shown. {whole}</p>;

/** The messages that fit, the last one cut. */
function fitting(texts: readonly string[]): Message[] {
  const messages: Message[] = [];
  let room = mostCharacters;
  for (const text of texts.slice(0, mostMessages)) {
    if (room <= 0) break;
    const { role, content, more = "" } = readMessage(text);
    const shown = { role: role.slice(0, 100), content: content.slice(0, room) };
    const rest = more.slice(0, Math.max(room - content.length, 0));
    room -= content.length + rest.length;
    messages.push(rest === "" ? shown : { ...shown, more: rest });
  }
  return messages;
}

/** A role that has a style. Any other text must not become the name of a class. */
const kindOf = (role: string): string => ["system", "user", "assistant"].includes(role) ? role : "";

/** A text with its `{{variables}}` lit up. */
function withVariables(text: string): Part {
  const parts: Part[] = [];
  let last = 0;
  for (const { start, end } of findPlaceholders(text)) {
    parts.push(text.slice(last, start), <mark>{text.slice(start, end)}</mark>);
    last = end;
  }
  return [...parts, text.slice(last)];
}

const list = (names: readonly string[]) => names.map((name, index) => [index > 0 && ", ", <code>{name}</code>]);

/** Warns of added or removed variables, which affect the applications that fill them in. */
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
function DeclarationsTable({ declarations }: { declarations: Declarations }): Part {
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
