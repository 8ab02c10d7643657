// Lays out tables by the display width of each character, and cuts them to the width of the terminal.

const zero = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
// East Asian wide and fullwidth characters, and emoji.
const wide =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{17000}-\u{18cff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]$/u;

const widthOfCharacter = (character: string) => zero.test(character) ? 0 : wide.test(character) ? 2 : 1;

/** The display width of a text, in columns of a terminal. */
export const widthOf = (text: string): number =>
  /^[ -~]*$/.test(text) ? text.length : [...text].reduce((sum, character) => sum + widthOfCharacter(character), 0);

/** Cuts a text to `columns`, with `…` at the end. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let cut = "", width = 1;
  for (const character of text) {
    width += widthOfCharacter(character);
    if (width > columns) break;
    cut += character;
  }
  return `${cut}…`;
}

/** Cuts each line of a text to `columns`. */
export const cutLines = (text: string, columns: number): string =>
  text.split("\n").map((line) => cutTo(line, columns)).join("\n");

/** Cuts a reference before its `@`, because `@staging` and `@production` tell deployments apart. */
function cutReference(text: string, columns: number): string {
  const at = text.lastIndexOf("@"), end = text.slice(at), left = columns - widthOf(end);
  return at < 0 || left < 2 || widthOf(text) <= columns ? cutTo(text, columns) : cutTo(text.slice(0, at), left) + end;
}

type Column = { name: string; cells: string[]; width: number };

const maxCell = 60;
const minText = 12; // columns: texts are cut to this before a column is hidden
const minDistinct = 28; // columns, for texts that differ at their ends
const gap = 2;

/**
 * Lays out a table, at most `columns` wide on a terminal. `hidden` names the columns that do not fit. The row's own id is one
 * of them only if `mayHideId`.
 */
export function layOut(
  names: string[],
  rows: string[][],
  columns = Infinity,
  mayHideId = false,
): { text: string; hidden: string[] } {
  const all = names.map((name, index) => toColumn(name, rows.map((row) => row[index]!)));
  const ids = all.filter(({ name }) => isId(name)).sort((a, b) => Number(a.name === "id") - Number(b.name === "id"));
  const ordered = [...all.filter(({ name }) => !isId(name)), ...ids];
  if (totalOf(ordered) > columns) { for (const column of ordered) shortenTimes(column); }
  const kept = fit(ordered, columns, mayHideId ? undefined : ordered.find(({ name }) => name === "id"));
  return {
    text: [-1, ...rows.keys()].map((row) => `${cutTo(toLine(kept, row), columns)}\n`).join(""),
    hidden: all.filter((column) => !kept.includes(column)).map(({ name }) => name),
  };
}

/** The application chooses the id of a session, which may be any text. */
const isId = (name: string) => name === "id" || name.endsWith("Id") && name !== "sessionId";

const measure = ({ name, cells }: Omit<Column, "width">) =>
  [name, ...cells].reduce((widest, text) => Math.max(widest, widthOf(text)), 0);

function toColumn(name: string, cells: string[]): Column {
  const width = Math.min(maxCell, measure({ name, cells }));
  return { name, cells, width };
}

const totalOf = (columns: Column[]) => columns.reduce((sum, { width }) => sum + width + gap, -gap);

function shortenTimes(column: Column): void {
  column.cells = column.cells.map((cell) => cell.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d\.\d{3}Z$/, "$1Z"));
  column.width = Math.min(column.width, measure(column));
}

/** Cuts long texts, then hides columns until the rest fits: ids of other things first, and the row's `own` id never. */
function fit(all: Column[], columns: number, own: Column | undefined): Column[] {
  const foreign = all.filter((column) => isId(column.name) && column !== own);
  const plain = all.filter(({ name }) => !isId(name));
  const leaving = [
    ...foreign.filter(({ name }) => name === "workspaceId"),
    ...foreign.filter(({ name }) => name !== "workspaceId").reverse(),
    ...[...plain].reverse(),
  ];
  let kept = all;
  for (;;) {
    if (minWidth(kept, own) <= columns || leaving.length === 0) break;
    const left = leaving.shift();
    kept = kept.filter((column) => column !== left);
  }
  shrink(kept.filter(isText), totalOf(kept) - columns);
  return kept;
}

const isText = ({ name, cells }: Column) => !isId(name) && cells.some((cell) => /[^\d.:TZ-]/.test(cell));

const isReference = ({ name }: Pick<Column, "name">) => name === "reference" || name === "deployment";

const minOf = (column: Column) => isReference(column) || column.name === "action" ? minDistinct : minText;

/** The smallest width of these columns. */
const minWidth = (columns: Column[], own: Column | undefined) =>
  totalOf(
    columns.map((column) =>
      column !== own && isText(column) ? { ...column, width: Math.min(minOf(column), column.width) } : column
    ),
  );

/** Shortens the widest texts until they are `excess` narrower in total. References and actions come last. */
function shrink(texts: Column[], excess: number): void {
  for (let left = excess; left > 0; left--) {
    const longer = texts.filter((column) => column.width > minOf(column));
    const widest = (longer.length > 0 ? longer : texts)
      .reduce<Column | undefined>((a, b) => a === undefined || b.width > a.width ? b : a, undefined);
    if (widest === undefined || widest.width <= minText) return;
    widest.width--;
  }
}

const toLine = (columns: Column[], row: number): string =>
  columns.map(({ name, cells, width }) => {
    const cut = isReference({ name }) ? cutReference : cutTo;
    const text = cut(row < 0 ? name : cells[row]!, width);
    return text + " ".repeat(width - widthOf(text));
  }).join(" ".repeat(gap)).trimEnd();
