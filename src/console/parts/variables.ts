// Which variables a change adds and removes.
import { markup } from "../html.ts";
import type { Part } from "../html.ts";
import { notice } from "./notice.ts";

/** Warns when variables come or go, because the applications that fill them in must know. */
export function variablesNotice(before: readonly string[], after: readonly string[]): Part {
  const added = after.filter((name) => !before.includes(name)),
    removed = before.filter((name) => !after.includes(name));
  if (added.length + removed.length === 0) return undefined;
  const list = (names: readonly string[]) =>
    names.map((name, index) => markup`${index > 0 && ", "}<code>${name}</code>`);
  return notice(
    "warning",
    markup`${added.length > 0 && markup`New variables: ${list(added)}. Applications must fill them in. `}${
      removed.length > 0 && markup`Variables that go: ${list(removed)}.`
    }`,
  );
}
