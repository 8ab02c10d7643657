// Lays out tables by the display width of each character. If a terminal is too narrow, the excess is below its row.

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

/**
 * Breaks a text before words that do not fit into `columns`, but would in a new line, which begins with `indent`
 * spaces. A number and its unit are one word.
 */
export function wrap(text: string, columns: number, indent = 0): string {
  const [first = "", ...words] = text.split(/ (?!%|ms\b)/);
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`, next = " ".repeat(indent) + word;
    if (widthOf(longer) > columns && widthOf(next) <= columns) lines.push(next);
    else lines[lines.length - 1] = longer;
  }
  return lines.join("\n");
}

type Column = { name: string; cells: string[]; width: number; isRight: boolean };

/** The columns that may be cut. People write these texts, of any length. */
const freeTexts = ["text", "title", "promptTitle", "note", "description"];

const minText = 20; // columns: a text is not cut to less
const maxPadding = 60; // columns: one long text does not make all rows as long
const gap = 2;

/**
 * Lays out a table, with the columns in `right` aligned right. Ids come last. On a terminal of `columns`, free texts
 * are cut, and the last columns move below their row as `name: value` if the table is still too wide.
 */
export function layOut(names: string[], rows: string[][], columns = Infinity, right: readonly number[] = []): string {
  const all = names.map((name, index) =>
    toColumn(name, rows.map((row) => row[index]!), right.includes(index), columns)
  );
  const ids = all.filter(({ name }) => isId(name)).sort((a, b) => Number(a.name === "id") - Number(b.name === "id"));
  const ordered = [...all.filter(({ name }) => !isId(name)), ...ids];
  if (totalOf(ordered) > columns) { for (const column of ordered) shortenTimes(column); }
  const kept = fit(ordered, columns);
  // A column without a name, but the first, is a bar, which repeats a number.
  const below = ordered.slice(kept.length).filter((column) => column.name !== "" || column === ordered[0]);
  const lines = [...kept.length === 0 ? [] : [-1], ...rows.keys()].flatMap((row) => [
    ...kept.length === 0 ? [] : [toLine(kept, row)],
    ...row < 0 ? [] : toPairs(below, row, columns, kept.length === 0 ? 0 : gap),
  ]);
  return lines.map((line) => `${line}\n`).join("");
}

/** The application chooses the id of a session, which may be any text. */
const isId = (name: string) => name === "id" || name.endsWith("Id") && name !== "sessionId";

const isFreeText = ({ name }: Pick<Column, "name">) => freeTexts.includes(name);

const measure = ({ name, cells }: Pick<Column, "name" | "cells">) =>
  [name, ...cells].reduce((widest, text) => Math.max(widest, widthOf(text)), 0);

function toColumn(name: string, cells: string[], isRight: boolean, columns: number): Column {
  const width = measure({ name, cells });
  const most = columns === Infinity ? maxPadding : columns;
  return { name, cells, width: isFreeText({ name }) ? Math.min(width, most) : width, isRight };
}

const totalOf = (columns: Column[]) => columns.reduce((sum, { width }) => sum + width + gap, -gap);

function shortenTimes(column: Column): void {
  column.cells = column.cells.map((cell) => cell.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d\.\d{3}Z$/, "$1Z"));
  column.width = Math.min(column.width, measure(column));
}

/** The first columns that fit, their texts cut so that they do. */
function fit(all: Column[], columns: number): Column[] {
  const narrowest = all.map((column) =>
    isFreeText(column) ? { ...column, width: Math.min(minText, column.width) } : column
  );
  let count = all.length;
  while (count > 0 && totalOf(narrowest.slice(0, count)) > columns) count--;
  const kept = all.slice(0, count);
  const texts = kept.filter(isFreeText);
  for (let left = totalOf(kept) - columns; left > 0; left--) {
    texts.reduce((a, b) => b.width > a.width ? b : a).width--;
  }
  if (columns < Infinity) {
    for (const column of texts) column.cells = column.cells.map((cell) => cutTo(cell, column.width));
  }
  return kept;
}

const toLine = (columns: Column[], row: number): string =>
  columns.map((column) => {
    const text = row < 0 ? column.name : column.cells[row]!;
    const space = " ".repeat(Math.max(0, column.width - widthOf(text)));
    return column.isRight ? space + text : text + space;
  }).join(" ".repeat(gap)).trimEnd();

/** The values of a row as `name: value`, as many in a line as fit. Empty values are left out. */
function toPairs(all: Column[], row: number, columns: number, indent: number): string[] {
  const lines: string[] = [];
  for (const column of all.filter(({ cells }) => cells[row] !== "" && cells[row] !== "-")) {
    const margin = " ".repeat(lines.length === 0 ? indent : gap);
    const { name, cells } = column;
    const whole = `${name === "" ? "" : `${name}: `}${cells[row]!}`;
    const pair = isFreeText(column) ? cutTo(whole, columns - margin.length) : whole;
    const last = lines.at(-1);
    const longer = `${last}${" ".repeat(gap)}${pair}`;
    if (last !== undefined && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(wrap(margin + pair, columns, 2 * gap));
  }
  return lines;
}
