// Makes the table of all operations of management: what HTTP, the command line and MCP call each.
import { adminPath } from "../src/http/face.ts";
import { tools } from "../src/mcp/tools.ts";
import { groups } from "../src/management/index.ts";
import { describeRole } from "../src/management/kernel/declare.ts";
import type { AnyOperation } from "../src/management/kernel/operation.ts";

/** `201`, `export as ndjson or csv`, `pages`, `ETag` and so on. */
const answersOf = ({ answers, formats = [], paged, revision = [], conflicts, requests }: AnyOperation): string =>
  [
    answers === "export" ? `export as ${formats.join(", ")}` : answers,
    paged && "pages",
    requests && "may need an approval",
    revision.includes("etag") && "ETag",
    revision.includes("if-match") && "If-Match",
    conflicts && "409",
  ].filter((fact) => fact).join(", ");

const code = (text: string): string => text === "" ? "" : `\`${text.replaceAll("|", "\\|")}\``;

const rowOf = (operation: AnyOperation): string[] => [
  code(operation.id),
  code(`${operation.method} ${operation.path}`),
  describeRole(operation),
  code(/^([a-z]+( [a-z]+)?(?= |$))?/.exec(operation.command ?? "")![0]),
  tools.filter(({ runs }) => runs.some(({ id }) => id === operation.id)).map(({ name }) => code(name)).join(", "),
  answersOf(operation),
];

const heads = ["operation", "method and path", "role", "command", "tool", "answers"];

/** The table as Markdown, by group. */
export function operationsTable(): string {
  const sections = groups.map(({ tag, operations }) => {
    const rows = [heads, ...operations.map(rowOf)];
    const widths = heads.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
    const line = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |\n`;
    const [head, ...others] = rows;
    const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`;
    return `\n## ${tag}\n\n${line(head!)}${rule}${others.map(line).join("")}`;
  });
  return [
    "# Operations\n\n",
    "<!-- Generated from the declarations by `npm run generate`; edit those. -->\n\n",
    `Paths are below \`${adminPath}\`. Answers are the output with 200, but for what is said.\n`,
    ...sections,
  ].join("");
}
