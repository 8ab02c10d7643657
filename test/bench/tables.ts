// Results as tables: a row is an object whose names are the columns, printed as Markdown.

export type Cell = string | number | null;
export type Row = Record<string, Cell>;
export type Table = { title: string; rows: Row[] };

export const round = (value: number, digits: number): number => Number(value.toFixed(digits));

/** How many times as much; two digits. */
export const ratio = (value: number, reference: number): number => round(value / reference, 2);

/** A table under its title; the numbers of a column have the same number of decimals. */
export function toMarkdown({ title, rows }: Table): string {
  const names = Object.keys(rows[0] ?? {});
  const columns = names.map((name) => [name, "---", ...formatColumn(rows.map((row) => row[name] ?? null))]);
  const lines = Array.from({ length: rows.length + 2 }, (_, line) => columns.map((cells) => cells[line]).join(" | "));
  return [`### ${title}`, "", ...lines.map((line) => `| ${line} |`)].join("\n");
}

function formatColumn(cells: Cell[]): string[] {
  const decimals = Math.max(...cells.map((cell) => typeof cell === "number" ? decimalsOf(cell) : 0));
  return cells.map((cell) => typeof cell === "number" ? cell.toFixed(decimals) : cell ?? "–");
}

const decimalsOf = (value: number) => String(value).split(".")[1]?.length ?? 0;
