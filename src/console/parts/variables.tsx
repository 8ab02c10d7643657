// Which variables a change adds and removes.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { h } from "../html.ts";
import type { Part } from "../html.ts";
import { Notice } from "./notice.tsx";

/** Warns when variables come or go, because the applications that fill them in must know. */
export function VariablesNotice({ before, after }: { before: readonly string[]; after: readonly string[] }): Part {
  const added = after.filter((name) => !before.includes(name));
  const removed = before.filter((name) => !after.includes(name));
  if (added.length + removed.length === 0) return undefined;
  const list = (names: readonly string[]) => names.map((name, index) => [index > 0 && ", ", <code>{name}</code>]);
  return (
    <Notice kind="warning">
      {added.length > 0 && ["New variables: ", list(added), ". Applications must fill them in. "]}
      {removed.length > 0 && ["Variables that go: ", list(removed), "."]}
    </Notice>
  );
}
