// Results as Markdown tables. The keys of a row are the columns.

type Cell = string | number | null;
export type Row = Record<string, Cell>;
export type Table = { title: string; rows: Row[] };

export const round = (value: number, digits: number): number => Number(value.toFixed(digits));

/** A ratio with two digits. */
export const ratio = (value: number, reference: number): number => round(value / reference, 2);

/** Formats a table under its title. The numbers of a column have the same number of decimals. */
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
