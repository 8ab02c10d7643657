// The heads of files: front matter, which is YAML between two lines of `---`, and what may stand before it in each format.
import type { Report } from "./faults.ts";
import { noEnd } from "./members.ts";
import type { Parts } from "./members.ts";

/** A text without a byte order mark, and with the line ends of Unix. */
export const normalize = (text: string): string => text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");

/** The lines that may stand before front matter: empty ones, or those that begin with `#` too. */
const before = { blank: /^(?:[ \t]*\n)*/, comments: /^(?:[ \t]*(?:#[^\n]*)?\n)*/ };

const maxLead = 4000; // characters
/** Lines like front matter between two lines of dashes. */
const lateHead =
  /^(?:---|\+\+\+)[ \t]*\n(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*["']?[\w.-]+["']?[ \t]*[:=][^]*?\n(?:---|\+\+\+)[ \t]*$/m;

/**
 * Splits a file that has been normalised. Returns undefined and reports why if its front matter has no end, or is TOML. `lead` is
 * what may stand before it. `delimiter` is the pattern of the lines around it.
 */
export function splitHead(
  source: string,
  report: Report,
  lead: keyof typeof before = "blank",
  delimiter = "---",
): Parts | undefined {
  const [skipped] = before[lead].exec(source)!, text = source.slice(skipped.length);
  const [first] = /^[ \t]*(?:---|\+\+\+)[ \t]*(?:\n|$)/.exec(text) ?? [];
  if (first === undefined) {
    const late = lateHead.exec(source.slice(0, maxLead));
    if (late !== null) {
      report(late.index, "This begins no front matter, as there is text before it: it is sent to the model", true);
    }
    return { yaml: "", start: 0, body: source, bodyStart: 0 };
  }
  const start = skipped.length + first.length;
  const end = new RegExp(`^(?:${delimiter})[ \\t]*(?:\\n|$)`, "m").exec(source.slice(start));
  const yaml = source.slice(start, end === null ? undefined : start + end.index);
  const isToml = first.trim() === "+++" && (delimiter === "---" || /^[ \t]*(?:[\w.-]+[ \t]*=|\[)/m.test(yaml));
  if (isToml) {
    return void report(
      skipped.length,
      "Front matter between lines of +++ is TOML. Write it as YAML between lines of ---",
    );
  }
  if (end === null) return void report(skipped.length, noEnd);
  const bodyStart = start + end.index + end[0].length;
  return { yaml, start, body: source.slice(bodyStart), bodyStart };
}
